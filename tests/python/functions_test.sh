#!/bin/sh
# Every function that libacp exports (docs/symbols.txt) is used by src/python/native, or
# tests/python/left_out.txt says why not; and every function of the extension module has
# its line in acp/_acp.pyi.
#
#   functions_test.sh <source tree>
set -eu
cd "$1"
failed=0
for name in $(grep -v '^#' docs/symbols.txt); do
  used=$(grep -hwc "$name" src/python/native/*.cc | awk '{ n += $1 } END { print n }')
  reason=$(sed -n "s/^$name  *\(..*\)/\1/p" tests/python/left_out.txt)
  if test "$used" = 0 && test -z "$reason"; then
    echo "$name is in no file of src/python/native, and has no reason in left_out.txt"
    failed=1
  elif test "$used" != 0 && test -n "$reason"; then
    echo "$name is used, and left_out.txt leaves it out"
    failed=1
  fi
done
methods=$(grep -hoE '(row|atomic)<"acpx?_[a-z0-9_]+"|row\("[a-z0-9_]+"|"fetch_[a-z]+"' \
  src/python/native/*.cc | grep -oE '"[a-z0-9_]+"' | tr -d '"' | sed -E 's/^acpx?_//' | sort -u)
test "$(echo "$methods" | wc -l)" -gt 100 || { echo "too few methods were found"; exit 1; }
for name in $methods; do
  grep -qE "^def $name\(" src/python/acp/_acp.pyi ||
    { echo "$name has no line in src/python/acp/_acp.pyi" && failed=1; }
done
exit $failed
