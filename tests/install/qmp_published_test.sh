#!/bin/sh
# A program can use every name of the published qmp.h: functions, types and
# constants, in C and in C++, and the library exports the functions.
#
#   qmp_published_test.sh <source tree> <libqmp> <C compiler> <C++ compiler>
set -eu
top=$1 library=$2 c=$3 cxx=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
LC_ALL=C
export LC_ALL

names() { # names <kind>: those of one kind
  sed -n "/^# $1\$/,/^\$/p" "$top/docs/qmp_published.txt" | grep -v '^#' |
    grep .
}

names functions >"$work/functions"
test "$(wc -l <"$work/functions")" -gt 120
nm -D --defined-only "$library" | awk '{ print $3 }' | sort -u >"$work/exported"
if ! comm -23 "$work/functions" "$work/exported" >"$work/missing" ||
  test -s "$work/missing"; then
  echo "${library##*/} lacks functions of the published library:" >&2
  cat "$work/missing" >&2
  echo "Add them, or take them out of the list and say in docs/qmp.md why." >&2
  exit 1
fi

{
  echo '#include <qmp.h>'
  names types | sed 's/.*/extern & *pointer_to_&;/'
  echo 'long long constants[] = {'
  names constants | sed 's/$/,/'
  echo '};'
  echo 'typedef void (*function)(void);'
  echo 'extern function functions[]; function functions[] = {'
  sed 's/.*/(function)&,/' "$work/functions"
  echo '};'
} >"$work/uses.c"
cp "$work/uses.c" "$work/uses.cc"
"$c" -std=c99 -Werror -fsyntax-only -I "$top/include" "$work/uses.c"
"$cxx" -std=c++17 -Werror -fsyntax-only -I "$top/include" "$work/uses.cc"
echo "$(wc -l <"$work/functions") functions, and all types and constants"
