#!/bin/sh
# Checks that docs/glossary.md has each word once.
#
#   tools/lint/check_glossary.sh [page]
#
# The first column of each table has a term, or several with commas between them.
set -eu
cd "$(dirname "$0")/../.."
awk -v page="${1:-docs/glossary.md}" -F ' *[|] *' '
/^\|/ && !/^\| term \|/ && !/^\|-/ {
  count = split($2, terms, /, */)
  for (i = 1; i <= count; i++) {
    all++
    if (terms[i] in line) {
      print page ":" FNR ": " terms[i] " stands in line " line[terms[i]] " as well"
      failed = 1
    }
    line[terms[i]] = FNR
  }
}
END {
  if (!all) { print page " has no terms"; failed = 1 }
  print all + 0 " terms"
  exit failed
}' "${1:-docs/glossary.md}"
