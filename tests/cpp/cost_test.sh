#!/bin/sh
# acp.hpp takes at most 2 % more instructions than acp.h, or three more for a
# call. Callgrind counts in measure() of cpp_cost, and in the library below it.
#
#   cost_test.sh <cpp_cost>
set -eu
command -v valgrind >/dev/null || {
  echo "valgrind is not installed"
  exit 77
}
count() { # count <cpp|c> <operation>: instructions
  valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect=measure \
    "$program" "$1" "$2" 2>&1 | awk '/Collected/ { print $NF }'
}
program=$1
failed=0
printf '%-6s %10s %10s %8s\n' "" acp.h acp.hpp ratio
for operation in put8 get8 add8 find push; do
  c=$(count c $operation)
  cpp=$(count cpp $operation)
  awk -v o=$operation -v c="$c" -v cpp="$cpp" 'BEGIN {
    printf "%-6s %10.1f %10.1f %8.4f\n", o, c / 2000, cpp / 2000, cpp / c
    exit !(c > 0 && cpp > 0 && (cpp <= 1.02 * c || cpp - c <= 3 * 2000)) }' || failed=1
done
exit $failed
