#!/bin/sh
# lint.mpi_functions: src/hmpi/functions.def has a line for each function of MPI.
#
#   tools/lint/check_mpi_functions.sh [build folder [table [folder of headers]]]
#
# 1. The table is sorted. Each verdict is "wrapped", or "passes" with a reason that the
#    top of the table explains.
# 2. Each function that an installed mpi.h declares has a line.
# 3. Each line names a function that Open MPI or MPICH declares. This is checked only where the
#    headers of both MPI libraries are installed.
# 4. If the build folder has libhmpi_*.so, the library defines MPI_X and PMPI_X for
#    each wrapped function that its mpi.h declares, and for no function that passes.
#
# A folder of headers has openmpi/mpi.h, mpich/mpi.h or both. Without one, the compiler
# wrappers of the MPI libraries name their folders. The exit status is 77 if no mpi.h is
# installed.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${1:-}
table=${2:-$root/src/hmpi/functions.def}
headers=${3:-}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
complain() { # each line of the standard input, behind the words given
  while read -r line; do
    echo "$*$line" >&2
  done
}

# Prints the folder of an MPI library's mpi.h.
folder_of() { # folder_of openmpi|mpich
  if test -n "$headers"; then
    echo "$headers/$1"
    return
  fi
  command -v "mpicc.$1" >/dev/null || return 0
  "mpicc.$1" -show 2>/dev/null | tr ' ' '\n' | sed -n 's/^-I//p' |
    while read -r folder; do
      test ! -e "$folder/mpi.h" || { echo "$folder" && break; }
    done
}

# Prints the functions that headers declare. Names that end with _FN are macros for
# functions with other names.
functions_of() { # functions_of <header>...
  awk '
  { sub(/\/\/.*/, "") }
  /^[ \t]*#/ { while (/\\$/ && (getline > 0)) continue; next }
  { text = text $0 " " }
  END {
    while (begin = index(text, "/*")) {
      rest = substr(text, begin + 2)
      text = substr(text, 1, begin - 1) " " substr(rest, index(rest, "*/") + 2)
    }
    count = split(text, statements, ";")
    for (i = 1; i <= count; i++) {
      if (statements[i] ~ /typedef/) continue
      if (!match(statements[i], /[A-Za-z0-9_]*MPIX?_[A-Za-z0-9_]+ *\(/)) continue
      name = substr(statements[i], RSTART, RLENGTH)
      sub(/ *\($/, "", name)
      if (name ~ /^MPI/ && name !~ /_FN$/) print name
    }
  }' "$@" | sort -u
}

# Lines of the table: function, verdict, reason. Its form is checked first.
awk -v table="$table" '
function wrong(text) { print table ":" FNR ": " text > "/dev/stderr"; failed = 1 }
/^#   [a-z]/ { reasons[$2] = 1 }
/^(#|$)/ { next }
{
  if ($2 != "wrapped" && $2 != "passes") wrong($1 ": the verdict is wrapped or passes")
  if ($2 == "wrapped" && NF != 2) wrong($1 " is wrapped and needs no reason")
  if ($2 == "passes" && NF != 3) wrong($1 " passes and needs one word as a reason")
  else if ($2 == "passes" && !($3 in reasons)) wrong("nothing explains reason " $3)
  print $1, $2
}
END { exit failed }' "$table" >"$work/lines" || failed=1
LC_ALL=C
export LC_ALL
cut -d ' ' -f 1 "$work/lines" >"$work/names"
sort -c -u "$work/names" 2>"$work/order" || {
  sed 's/.*: disorder: //' "$work/order" |
    complain "$table: not sorted, or a second line: "
  failed=1
}
sort -u "$work/names" -o "$work/names"

found=0
for mpi in openmpi mpich; do
  folder=$(folder_of $mpi)
  if test -z "$folder" || ! test -e "$folder/mpi.h"; then continue; fi
  found=$((found + 1))
  set -- "$folder/mpi.h"
  for part in mpi_proto.h mpio.h; do
    test ! -e "$folder/$part" || set -- "$@" "$folder/$part"
  done
  functions_of "$@" >"$work/$mpi"
  cat "$work/$mpi" >>"$work/declared"
  comm -13 "$work/names" "$work/$mpi" >"$work/missing"
  test ! -s "$work/missing" || failed=1
  complain "$table has no line for this function of $folder/mpi.h: " <"$work/missing"

  library=$build/src/hmpi/libhmpi_$mpi.so
  if test -z "$build" || ! test -e "$library"; then continue; fi
  nm -D --defined-only "$library" >"$work/symbols"
  awk -v library="$library" -v symbols="$work/symbols" -v declared="$work/$mpi" '
  FILENAME == symbols { sub(/@.*/, "", $NF); defined[$NF] = 1; next }
  FILENAME == declared { has[$1] = 1; next }
  {
    for (i = 0; i < 2; i++) {
      name = (i ? "P" : "") $1
      if ($2 == "wrapped" && ($1 in has) && !(name in defined)) {
        print library " does not define " name ", which is wrapped"
        failed = 1
      } else if ($2 == "passes" && (name in defined)) {
        print library " defines " name ", which passes"
        failed = 1
      }
    }
  }
  END { exit failed }' "$work/symbols" "$work/$mpi" "$work/lines" >&2 || failed=1
  echo "$library: looked at"
done
if test $found = 0; then
  echo "no mpi.h is installed: neither mpicc.openmpi nor mpicc.mpich names one"
  test $failed = 1 || exit 77
fi
if test $found = 2; then
  sort -u "$work/declared" | comm -23 "$work/names" - >"$work/unknown"
  test ! -s "$work/unknown" || failed=1
  complain "$table: no mpi.h declares " <"$work/unknown"
fi
echo "$(wc -l <"$work/names") functions, compared with $found mpi.h"
exit $failed
