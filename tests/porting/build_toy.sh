#!/bin/sh
# Builds the tree with the toy network, and looks whether library, launcher,
# compiler wrapper and acp_info know it by its row alone. Files are compiled only
# for the first run.
#
#   build_toy.sh <source tree> <build tree> <cmake> [<option of cmake>...]
set -eu
top=$1 build=$2 cmake=$3
shift 3
here=$top/tests/porting

fail() {
  echo "FAILED: $1" >&2
  exit 1
}

"$cmake" -S "$top" -B "$build" -G Ninja -Wno-dev -DACP_BUILD_TESTS=OFF \
  -DACP_VERBS=OFF -DACP_UCX=OFF -DACP_PMIX=OFF -DACP_FORTRAN=OFF \
  -DACP_MORE_NETWORKS="$here/rows.def" "$@"
"$cmake" --build "$build" --parallel 2 --target acp acprun acp_info

bin=$build/bin
"$bin/acprun" --help | grep -q '\btoy\b' || fail "acprun --help does not name the toy"
"$bin/acp_info" | grep -q '^ *toy\b' || fail "acp_info does not list the toy"

"$bin/acpcc" -ndev toy "$top/tests/install/consumer/net_consumer.c" -o "$build/net"
net=$("$bin/acprun" -np 1 "$build/net")
# The toy's number is behind those that the program knows.
test "$net" = another || fail "a program that is linked for the toy uses $net"
echo "ok"
