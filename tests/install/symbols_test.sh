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
# name behind an opening parenthesis is a pointer or an argument. The functions
# of acp/inline.h are in the program.
(cd "$source_dir/include" && find . -name '*.h' ! -name hmpi.h) |
  sed 's|.*|#include <&>|' |
  "$compiler" -E -P -I "$source_dir/include" -x c - |
  tr '\n' ' ' | tr ';{}' '\n\n\n' |
  grep -oE "\\b$pattern *\\(" | tr -d ' (' | grep -v '^acpx_inline_' |
  LC_ALL=C sort -u >"$work/declared"
same "The public headers" "$work/declared"

# A version is a symbol of its own (A), and part of each name. The library of
# ACP has two variables, for acp/inline.h.
nm -D --defined-only "$library" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' |
  grep -vxE 'acpx_(inline_1|has_stores)' | LC_ALL=C sort -u >"$work/exported"
same "The exported symbols of ${library##*/}" "$work/exported"

echo "$(wc -l <"$work/listed") functions: list, headers and library agree"
