#!/bin/sh
# Proves that lint.docs sees broken links, and no others.
#
#   doc_links_selftest.sh <check_doc_links.sh>
set -eu
lint=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/docs/decisions"
printf '# Other Page\n\n## What `it` does, now\n' >"$work/docs/other.md"

expect() { # expect <accepted|refused> <text of docs/page.md>
  printf '%s\n' "$2" >"$work/docs/page.md"
  verdict=accepted
  "$lint" "$work" >"$work/log" 2>&1 || verdict=refused
  if test "$verdict" != "$1"; then
    echo "'$2' was $verdict" >&2
    cat "$work/log" >&2
    exit 1
  fi
}

expect accepted 'see [other](other.md) and [itself](#one)
# One'
expect accepted '[below](decisions) [up](../docs/other.md#what-it-does-now)'
expect accepted '[elsewhere](https://example.org/none)'
expect accepted '```
[in code](none.md)
```'
expect refused '[gone](none.md)'
expect refused 'good [other](other.md), bad [gone](../other.md)'
expect refused '[no heading](other.md#nothing)'
expect refused '[no heading here](#nothing)'
