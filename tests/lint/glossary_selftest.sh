#!/bin/sh
# Tests tools/lint/check_glossary.sh with pages that have a word once, and twice.
#
#   glossary_selftest.sh <check_glossary.sh>
set -eu
check=$1
page=$(mktemp)
trap 'rm -f "$page"' EXIT

expect() { # pass|fail, terms of two tables
  printf '| term | meaning |\n|---|---|\n| %s | a |\n\n' "$2" "$3" >"$page"
  result=pass
  "$check" "$page" >/dev/null || result=fail
  test $result = "$1" || { echo "$2 and $3: expected $1, found $result" && exit 1; }
}

expect pass link slot
expect pass 'page, chunk' 'key table'
expect pass window 'packet window'
expect fail link link
expect fail 'page, chunk' chunk
expect fail region 'page, region'
: >"$page"
! "$check" "$page" >/dev/null || { echo "an empty page passes" && exit 1; }
