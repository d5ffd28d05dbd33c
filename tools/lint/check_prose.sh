#!/bin/sh
# lint.prose: comments and pages are whole, plain sentences (CONTRIBUTING.md).
#
#   tools/lint/check_prose.sh                  holds the tree to the ceilings
#   tools/lint/check_prose.sh FILE...          names each hit in these files
#   tools/lint/check_prose.sh --report [FILE...]   prints the measures only
#   tools/lint/check_prose.sh --self-test      proves the lint itself
#
# It fails on paragraphs that begin elliptically, on words that are not to be
# used, and on too many indefinite words. --report also prints, per directory:
# functions of 20 lines and more without a comment ("bare"), comment lines per
# code line, and .cc files that do not open with a comment ("no top").
# The lists of words and beginnings are in prose.awk.
set -eu
here=$(cd "$(dirname "$0")" && pwd)

# Ceilings: directory, indefinite words per 1,000, elliptical beginnings, words
# not to be used. "*" is for all directories without a row. A row goes when its
# directory is rewritten; a number only ever goes down.
ceilings() {
  cat <<'END'
*                5.0     0   0
tests/conformance  9     1   0
tests/middle       7     0   0
END
}

run() { # run <mode> <file>...
  mode=$1
  shift
  ceilings >"$work/ceilings"
  awk -v mode="$mode" -v ceilings="$work/ceilings" -f "$here/prose.awk" "$@"
}

tree() {
  find include src verbs udp tools tests launcher docs README.md \
    CONTRIBUTING.md -name '*.h' -o -name '*.hpp' -o -name '*.c' -o \
    -name '*.cc' -o -name '*.md' | LC_ALL=C sort
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
case ${1:-} in
--self-test)
  "$here/../../tests/lint/prose_selftest.sh" "$here/check_prose.sh"
  ;;
--report)
  shift
  test $# -gt 0 || { cd "$here/../.." && set -- $(tree); }
  run report "$@"
  ;;
-*)
  echo "usage: $0 [--report] [file...] | --self-test" >&2
  exit 2
  ;;
'')
  cd "$here/../.."
  run tree $(tree)
  ;;
*) run files "$@" ;;
esac
