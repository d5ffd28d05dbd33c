#!/bin/sh
# clang-tidy 14 (.clang-tidy) over library and programs, two at a time. Not over
# tests: they use std::source_location, which clang 14 does not know.
#
#   tools/lint/check_tidy.sh [--changed REF] [--within SECONDS] [FILE...]
#
# Without files: every such .cc that preset dev compiles; with --changed only those
# that differ from REF, and those beside a header that does. --within ends the
# run after that many seconds: what was looked at counts, the rest is counted
# as left out. A different part comes first each day, so that a bounded run
# sees everything in time.
# Exit 77: there is no clang-tidy 14.
set -eu
cd "$(dirname "$0")/../.."

changed= within=0
while test $# -gt 0; do
  case $1 in
  --changed) changed=$2 && shift 2 ;;
  --within) within=$2 && shift 2 ;;
  -*) echo "usage: $0 [--changed REF] [--within SECONDS] [FILE...]" >&2 && exit 2 ;;
  *) break ;;
  esac
done

tidy=
for name in clang-tidy-14 clang-tidy; do
  if "$name" --version 2>/dev/null | grep -q 'version 14\.'; then
    tidy=$name
    break
  fi
done
if test -z "$tidy"; then
  echo "no clang-tidy 14 here: apt-get install clang-tidy-14" >&2
  exit 77
fi

test -f build/dev/compile_commands.json || cmake --preset dev >/dev/null
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The .cc files that preset dev compiles, from the top of the tree.
sed -n 's|^ *"file": "\(.*\)",*$|\1|p' build/dev/compile_commands.json |
  sed -n "s|^$(pwd)/\(.*\.cc\)\$|\1|p" | grep -E '^(src|verbs|udp|launcher|tools)/' | sort -u \
  >"$work/compiled"

if test $# -gt 0; then
  printf '%s\n' "$@" >"$work/files"
elif test -n "$changed"; then
  git diff --name-only "$changed" -- '*.cc' '*.h' | sed 's/\.h$/.cc/' |
    sort -u | comm -12 - "$work/compiled" >"$work/files"
else
  # Rotated by the day of the year.
  count=$(wc -l <"$work/compiled")
  first=$(($(date +%j | sed 's/^0*//') * 37 % (count + 1)))
  { tail -n +$((first + 1)) "$work/compiled" && head -n $first "$work/compiled"; } \
    >"$work/files"
fi

deadline=0
test "$within" = 0 || deadline=$(($(date +%s) + within))
# One file: nothing printed when it is clean, its name kept either way.
# shellcheck disable=SC2016 # for the inner shell
xargs -a "$work/files" -P2 -n1 sh -c '
  test "$2" = 0 || test "$(date +%s)" -lt "$2" || exit 0
  if "$1" -p build/dev --quiet "$4" >"$3/$$.log" 2>&1; then
    echo "$4" >>"$3/clean"
  else
    echo "$4" >>"$3/dirty"
    grep -v "warnings generated\|^Suppressed\|^Use -header-filter" "$3/$$.log"
  fi
  rm -f "$3/$$.log"
' sh "$tidy" "$deadline" "$work" || true

lines() { if test -f "$1"; then wc -l <"$1"; else echo 0; fi; }
all=$(lines "$work/files") clean=$(lines "$work/clean")
dirty=$(lines "$work/dirty")
echo "clang-tidy: $clean clean, $dirty with findings," \
  "$((all - clean - dirty)) left out of $all"
test "$dirty" = 0
