#!/bin/sh
# Checks that the error texts of docs/troubleshooting.md stand in the sources.
#
# A text is a code span in the first column of a table. Three dots, words in
# capitals and numbers stand for values, so the parts between them are looked for.
# Texts of other programs are written without a code span.
set -eu
cd "$(dirname "$0")/../.."
page=${1:-docs/troubleshooting.md}

sources=$(mktemp)
parts=$(mktemp)
trap 'rm -f "$sources" "$parts"' EXIT
# One line, in which neighbouring literals are one literal.
# shellcheck disable=SC2046 # the folders are words
find src launcher tools/acp_top $(tools/lint/network_folders.sh) -name '*.cc' -o -name '*.h' |
  sort | xargs cat | tr '\n' ' ' | sed -E 's/" +"//g; s/ +/ /g' >"$sources"
grep -E '^\| `' "$page" | sed 's/^| //; s/ | .*//' | grep -oE '`[^`]+`' |
  tr -d '`' |
  sed -E 's/\.\.\.|\b[A-Z]+\b|\b[0-9]+\b( s\b)?/\n/g' |
  sed -E 's/^[ ,:?]+//; s/[ ,:?]+$//' | awk 'length > 5' >"$parts"
test -s "$parts" || { echo "$page has no texts" && exit 1; }
failed=0
while read -r part; do
  grep -qF -- "$part" "$sources" ||
    { echo "$page: no source has the text: $part" && failed=1; }
done <"$parts"
echo "$(wc -l <"$parts") parts of error texts looked for"
exit $failed
