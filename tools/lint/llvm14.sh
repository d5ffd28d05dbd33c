#!/bin/sh
# Prints the name of a tool of LLVM 14 on this machine. Called by check_format.sh and
# check_tidy.sh, because other versions format and judge differently.
#
#   tools/lint/llvm14.sh TOOL    such as clang-format
# Exit 77: there is none.
set -eu
for name in "$1-14" "$1"; do
  if "$name" --version 2>/dev/null | grep -q 'version 14\.'; then
    echo "$name"
    exit 0
  fi
done
echo "no $1 14 here: apt-get install $1-14" >&2
exit 77
