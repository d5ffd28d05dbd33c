#!/bin/sh
# Tests tools/lint/check_error_texts.sh with pages that are right and wrong.
#
#   error_texts_selftest.sh <check_error_texts.sh>
set -eu
check=$1
page=$(mktemp)
trap 'rm -f "$page"' EXIT

expect() { # pass|fail, text
  printf '| text | reason | remedy |\n|---|---|---|\n%s\n' "$2" >"$page"
  result=pass
  "$check" "$page" >/dev/null || result=fail
  test $result = "$1" || { echo "$2: expected $1, found $result" && exit 1; }
}

# shellcheck disable=SC2016 # backticks of Markdown
{
  expect pass '| `did not come to the rendezvous of acp_init within 60 s of the first` | a | b |'
  expect pass '| `launcher and library`, `are of different builds` | a | b |'
  expect fail '| `did not come to the rendezvous of acp_initialise within 60 s of the first` | a | b |'
  expect fail 'no texts at all'
}
