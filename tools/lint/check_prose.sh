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
docs               12    17  22
docs/man           16     0   0
include             5    22   1
launcher           19    26   1
src/agent          21     3   4
src/api             3     1   0
src/compat         16    11   0
src/gma            27    38  18
src/middle         22    86   4
src/protocol       16    11   2
src/qmp            20    47   3
src/runtime        24    16   7
src/transport       7     5   1
tests/compat       25     1   0
tests/conformance   18    11   1
tests/fault        24     4   0
tests/fuzz         35     2   0
tests/launcher     20     8   0
tests/middle       23    10   0
tests/multiproc    21     5   1
tests/porting      17     1   0
tests/qmp          20     6   0
tests/rdma-vm      32    12   2
tests/support      21    17   6
tests/tools        20     2   0
tests/transport    28    10   2
tests/unit         22    18  12
tools/acp_info     30     7   0
tools/acp_perf     23    39  10
tools/qmp_perf     22     2   0
udp                19    40  20
verbs              24    65   5
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
