#!/bin/sh
# Every function that libacp exports (docs/symbols.txt) is used by src/python/native, or
# tests/python/left_out.txt says why not; and every function of the extension module has
# its line in acp/_acp.pyi.
#
#   functions_test.sh <source tree>
set -eu
cd "$1"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
grep -v '^#' docs/symbols.txt | sort >"$work/exported"
grep -v '^#' tests/python/left_out.txt | sed -E 's/ .*//' | sort >"$work/left_out"
cat src/python/native/*.cc | grep -oE '\bacpx?_[a-z0-9_]+' | sort -u >"$work/names"
comm -12 "$work/exported" "$work/names" >"$work/used"
failed=0
tell() { # tell <text>: a line for each name of standard input
  while read -r name; do
    echo "$name $1"
    failed=1
  done
}
sort -u "$work/used" "$work/left_out" | comm -23 "$work/exported" - >"$work/missing"
tell "is in no file of src/python/native, and not in left_out.txt" <"$work/missing"
comm -12 "$work/used" "$work/left_out" >"$work/both"
tell "is used, and left_out.txt leaves it out" <"$work/both"
comm -13 "$work/exported" "$work/left_out" >"$work/unknown"
tell "stands in left_out.txt, and libacp does not export it" <"$work/unknown"
grep -vE '^(#|[a-z0-9_]+  .)' tests/python/left_out.txt >"$work/bare" || true
tell "has no reason in left_out.txt" <"$work/bare"

cat src/python/native/*.cc |
  grep -oE '(row|atomic)<"acpx?_[a-z0-9_]+"|row\("[a-z0-9_]+"|"fetch_[a-z]+"' |
  grep -oE '"[a-z0-9_]+"' | tr -d '"' | sed -E 's/^acpx?_//' | sort -u >"$work/methods"
test "$(wc -l <"$work/methods")" -gt 100 || { echo "too few methods were found" && exit 1; }
sed -nE 's/^def ([a-z0-9_]+)\(.*/\1/p' src/python/acp/_acp.pyi | sort >"$work/declared"
comm -3 "$work/methods" "$work/declared" | tr -d '\t' | grep -v '^set_error_factory$' \
  >"$work/undeclared" || true
tell "is in the extension module or in _acp.pyi, and not in the other" <"$work/undeclared"
exit $failed
