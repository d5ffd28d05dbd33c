#!/bin/sh
# The shortest operations take as many instructions as instructions.txt says, within 5 %.
# So a change that adds some is seen, with the operation.
#
#   cost_test.sh <acprun> <cost program> <instructions.txt> [--write]
#
# Callgrind counts in measure(), which makes an operation 1,000 times between two ranks
# of one host. --write writes the table anew.
set -eu
acprun=$1 program=$2 table=$3
command -v valgrind >/dev/null || {
  echo "valgrind is not installed"
  exit 77
}
count() { # count <operation>: instructions of one
  "$acprun" -np 2 valgrind --tool=callgrind --callgrind-out-file=/dev/null \
    --toggle-collect=measure "$program" "$1" 2>&1 </dev/null |
    awk '/Collected/ { sum += $NF } END { printf "%.0f\n", sum / 1000 }'
}
found=$(mktemp)
trap 'rm -f "$found"' EXIT
grep -v '^#' "$table" | while read -r operation expected; do
  now=$(count "$operation")
  echo "$operation $now"
  echo "$operation $expected $now" |
    awk '{ verdict = $3 > 1.05 * $2 ? "more than before" : $3 < 0.95 * $2 ? "fewer: write the table anew" : ""
      printf "%-18s %8d, now %8d  %s\n", $1, $2, $3, verdict > "/dev/stderr"
      exit !($3 > 0 && verdict == "") }' || echo "$operation" >>"$found"
done >"$found.now"
if test "${4-}" = --write; then
  { grep '^#' "$table" && cat "$found.now"; } >"$found" && cat "$found" >"$table"
  : >"$found"
fi
rm -f "$found.now"
if test -s "$found"; then
  echo "FAILED: $(tr '\n' ' ' <"$found")"
  exit 1
fi
