#!/bin/sh
# A page of docs/tutorial shows a program as it is, and its output as it is. The tests
# example.tutorial.* run this; it only reads.
#
#   tutorial.sh <page> <source file> <program> <launcher>
#
# A code block of the page has to be the source file. Behind a line "$ LAUNCHER -np N
# ./NAME" with the name of the source file, the page has the output.
set -eu
page=$1 source=$2 program=$3 launcher=$4
name=$(basename "$source" .c)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Each code block becomes a file.
awk -v folder="$work" '/^```/ { code = ($0 == "```c"); n += code; next }
  code { print >(folder "/block." n) }' "$page"
shown=
for block in "$work"/block.*; do
  ! cmp -s "$block" "$source" || shown=yes
done
if test -z "$shown"; then
  echo "$page does not show $source as it is; the nearest block differs so:" >&2
  diff -u "$work/block.1" "$source" >&2
  exit 1
fi

# The output in the page, and how many ranks it is of.
awk -v name="./$name" '$1 == "$" { found = ($NF == name); if (found) print $4 >"/dev/stderr"; next }
  !/^    / { found = 0 } found { print substr($0, 5) }' "$page" \
  >"$work/expected" 2>"$work/ranks"
ranks=$(cat "$work/ranks")
test -n "$ranks" || { echo "$page has no output of ./$name" >&2 && exit 1; }
# shellcheck disable=SC2086 # the launcher may have options
$launcher -np "$ranks" "$program" >"$work/output"
diff -u "$work/expected" "$work/output" >&2 ||
  { echo "$page shows another output of ./$name" >&2 && exit 1; }
echo "$page: ./$name is shown as it is, and prints on $ranks ranks what the page says"
