#!/bin/sh
# Programs that were built with an earlier library of this soname run with this one: no
# function of it is gone or has other arguments, and no public structure has changed.
#
#   abi_test.sh <source tree> <library>            compares with the dump of its soname
#   abi_test.sh <source tree> <library> --write    writes the dump, for a new soname
#
# The library needs debug information. Functions may be added.
set -eu
source_dir=$1 library=$2
soname=$(readelf -d "$library" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
dump=$source_dir/tests/install/abi/$soname.abi
command -v abidiff >/dev/null || { echo "skipped: abidiff is not installed" && exit 77; }

dump_to() { # <file>; much faster than abidiff of a library
  abidw --headers-dir "$source_dir/include" --drop-private-types --no-corpus-path \
    --no-show-locs --no-comp-dir-path --exported-interfaces-only --no-elf-needed \
    "$library" >"$1"
}

if test "${3-}" = --write; then
  dump_to "$dump"
  exit
fi
test -s "$dump" || { echo "FAILED: there is no $dump: write it by --write"; exit 1; }
now=$(mktemp)
trap 'rm -f "$now"' EXIT
dump_to "$now"
abidiff --no-added-syms "$dump" "$now" || {
  echo "FAILED: programs that were built with an earlier $soname may break."
  echo "Undo the change, or give the library another minor version, and write its dump."
  exit 1
}
echo "$(grep -c '<function-decl' "$dump") functions of $soname are as they were"
