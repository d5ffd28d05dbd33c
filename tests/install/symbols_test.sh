#!/bin/sh
# A list of functions, the public headers and a library name the same ones.
#
#   symbols_test.sh <source tree> <library> <C compiler> <list> <pattern>
#
# Their names match the pattern, an extended regular expression.
set -eu
source_dir=$1 library=$2 compiler=$3 list=$4 pattern=$5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

same() { # same <what> <file>: compares with the list
  if ! diff -u "$work/listed" "$2"; then
    echo "$1 differ from $list (- only listed, + not listed)." >&2
    echo "Bring the list up to date if the change is meant." >&2
    exit 1
  fi
}

grep -v '^#' "$source_dir/$list" | LC_ALL=C sort >"$work/listed"

# Declarations as the preprocessor leaves them; a star before the name or a
# name behind an opening parenthesis is a pointer or an argument.
(cd "$source_dir/include" && find . -name '*.h' ! -name hmpi.h) |
  sed 's|.*|#include <&>|' |
  "$compiler" -E -P -I "$source_dir/include" -x c - |
  tr '\n' ' ' | tr ';{}' '\n\n\n' |
  grep -oE "\\b$pattern *\\(" | tr -d ' (' |
  LC_ALL=C sort -u >"$work/declared"
same "The public headers" "$work/declared"

# A version is a symbol of its own (A), and part of each name.
nm -D --defined-only "$library" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' |
  LC_ALL=C sort -u >"$work/exported"
same "The exported symbols of ${library##*/}" "$work/exported"

echo "$(wc -l <"$work/listed") functions: list, headers and library agree"
