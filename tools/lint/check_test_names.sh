#!/bin/sh
# Checks that every test which a table of docs/testing.md names exists.
#
#   tools/lint/check_test_names.sh [build directory | file of names] [page]
#
# A name is a code span in a column `test`, `tests`, `in each run`, `with -C full` or
# `what sees their threads`. The columns `before` name tests of the past. A span is a
# test of ctest, a case of Catch2 or of the harness of jobs (without acp_ or acpx_), or
# a file. It may be the beginning of a name, up to a dot or a colon. In it * and words
# in capitals stand for anything. A span may replace the end of the name before it:
# channels.udp.2, .4. Spans with = are settings, and single capitals are files that
# the page explains.
set -eu
cd "$(dirname "$0")/../.."
names_from=${1:-build/dev}
page=${2:-docs/testing.md}

names=$(mktemp)
trap 'rm -f "$names"' EXIT
if test -d "$names_from"; then
  # The files that ctest reads: `ctest -N` would replace the log of a ctest that runs
  # this check.
  find "$names_from" -name CTestTestfile.cmake -exec cat {} + |
    sed -nE 's/^ *add_test\((\[=*\[)?([^] ]+).*/\2/p' >"$names"
  # Cases of programs that are not built yet stand in the sources only.
  find tests -name '*.cc' -exec cat {} + | tr '\n' ' ' |
    grep -oE '(SPMD_CASE\( *[a-z0-9_]+|TEST_CASE(_SIG)?\( *"[^"]*)' |
    sed -E 's/^[A-Z_]+\( *"?//; s/^acpx?_//' >>"$names"
  find tests -type f | sed 'p; s,/[^/]*$,,' >>"$names"
else
  cat "$names_from" >"$names"
fi

awk -v page="$page" '
function pattern(text) { # of a span: a regular expression for a whole name
  gsub(/[][.()+?^$|{}\\]/, "\\\\&", text)
  gsub(/\*|…/, ".*", text)
  gsub(/[A-Z][A-Z]+/, ".*", text)
  return "^" text "([.:].*)?$"
}
function exists(text,  re, i) {
  if (text in known) return known[text]
  re = pattern(text)
  for (i = 1; i <= count; i++)
    if (names[i] ~ re) return known[text] = 1
  return known[text] = 0
}
function check(span,  tail, base) { # the end of the name before may be replaced
  if (span ~ /=/ || span ~ /^[A-Z]$/ || span ~ /^(ctest|-)/) return
  looked++
  tail = span
  sub(/^acpx?_/, "", tail)
  if (exists(span) || exists(tail)) { before = span; return }
  tail = span
  sub(/^\./, "", tail)
  for (base = before; base != ""; ) {
    if (exists(base "." tail)) { before = base "." tail; return }
    if (!sub(/\.[^.]*$/, "", base)) break
  }
  print page ": there is no test " span
  failed = 1
}
FNR == NR { names[++count] = $0; next }
/^```/ { code = !code }
code { next }
!/^\|/ { columns = 0; last = ""; next }
/^\|[-| ]+\|$/ { # the line before it has the heads
  columns = split(last, heads, / *\| */)
  for (i = 1; i <= columns; i++) {
    gsub(/`/, "", heads[i])
    names_tests[i] = heads[i] ~ /^(tests?|in each run|with -C full|what sees their threads)$/
  }
  next
}
columns {
  split($0, cells, / *\| */)
  for (i = 1; i <= columns; i++) {
    if (!names_tests[i]) continue
    before = ""
    rest = cells[i]
    while (match(rest, /`[^`]+`/)) {
      check(substr(rest, RSTART + 1, RLENGTH - 2))
      rest = substr(rest, RSTART + RLENGTH)
    }
  }
}
{ last = $0 }
END {
  if (!looked) { print page " names no test"; failed = 1 }
  print looked " names of tests looked for among " count
  exit failed
}' "$names" "$page"
