#!/bin/sh
# lint.prose: comments and pages are whole, plain sentences (CONTRIBUTING.md).
#
#   tools/lint/check_prose.sh                  checks every directory
#   tools/lint/check_prose.sh FILE...          names each hit in these files
#   tools/lint/check_prose.sh --report [FILE...]   prints the measures only
#   tools/lint/check_prose.sh --self-test      proves the lint itself
#
# It reads C, C++ and Markdown files, *.sh, *.cmake, CMakeLists.txt, and files without
# a name's ending, or with .in, whose first line begins with "#!".
#
# It fails on paragraphs that begin elliptically, on words that are not to be
# used, and on more than 5 indefinite words of 1,000 in a directory. In pages it fails on
# sentences of more than 25 words, also in a table's cell. In src, the folders
# of networks, launcher and tools it also fails on functions of 20 lines and more without a
# comment ("bare") and on .cc files that do not open with one ("no top").
# --report prints these two per directory, comment lines per code line, and how many of
# all sentences are too long, in comments too ("long/sent.").
# The lists of words and beginnings are in prose.awk.
set -eu
here=$(cd "$(dirname "$0")" && pwd)

run() { # run <mode> <file>...
  mode=$1
  shift
  awk -v mode="$mode" -v networks="$("$here/network_folders.sh" '|')" \
    -f "$here/prose.awk" "$@"
}

tree() {
  {
    # shellcheck disable=SC2046 # the folders are words
    find include src $("$here/network_folders.sh") tools tests launcher docs README.md \
      CHANGELOG.md CONTRIBUTING.md CMakeLists.txt -name '*.h' -o -name '*.hpp' -o -name '*.c' -o \
      -name '*.cc' -o -name '*.md' -o -name '*.sh' -o -name '*.cmake' -o \
      -name CMakeLists.txt
    # shellcheck disable=SC2046 # the folders are words
    find .ci src $("$here/network_folders.sh") tools tests launcher docs -type f \
      \( ! -name '*.*' -o -name '*.in' \) -exec awk 'FNR == 1 && /^#!/ {
        print FILENAME }' {} +
  } | LC_ALL=C sort
}

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
