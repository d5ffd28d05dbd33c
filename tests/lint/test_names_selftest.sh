#!/bin/sh
# Tests tools/lint/check_test_names.sh with pages that name tests which exist, and
# tests which do not.
#
#   test_names_selftest.sh <check_test_names.sh>
set -eu
check=$1
page=$(mktemp)
names=$(mktemp)
trap 'rm -f "$page" "$names"' EXIT
printf '%s\n' map.udp.2 map.udp.16 hosts.kills.20 hosts.kills.100 verbs.job_faults \
  'death: a rank that is killed' push_back_vector_contention acp_perf.udp.1 \
  tests/fault/death_test.cc >"$names"

expect() { # pass|fail, head of the second column, cell
  printf '| promise | %s |\n|---|---|\n| a | %s |\n' "$2" "$3" >"$page"
  result=pass
  "$check" "$names" "$page" >/dev/null || result=fail
  test $result = "$1" || { echo "$3: expected $1, found $result" && exit 1; }
}

# shellcheck disable=SC2016 # backticks of Markdown
{
  expect pass tests '`map`, `hosts.kills.20`, `.100`, `death: *`'
  expect pass 'in each run' '`map.*.16` and `PROGRAM.udp.2` with `ACP_NET=udp`'
  expect pass 'with `-C full`' '`V`: `push_back_*_contention`; `ctest -C full`'
  expect pass test '`tests/fault/death_test.cc`, `acp_perf.udp.1`'
  expect fail tests '`map`, `hosts.kills.20`, `.1000`'
  expect fail tests '`birth: *`'
  expect fail 'in each run' '`job_faults`'
  expect fail 'with `-C full`' '`verbs.job`'
  expect fail tests '`mapping`'
  expect fail before '`verbs.faults`'
}

# The column before names tests of the past, which are not looked for.
# shellcheck disable=SC2016
printf '| promise | before | tests |\n|---|---|---|\n| a | `gone` | `map` |\n' >"$page"
"$check" "$names" "$page" >/dev/null ||
  { echo "the column before: expected pass" && exit 1; }
