#!/bin/sh
# lint.format: sources are as clang-format 14 leaves them (.clang-format).
#
#   tools/lint/check_format.sh         names files that are not; exits 1
#   tools/lint/check_format.sh --fix   formats them
# Exit 77: there is no clang-format 14; other versions format differently.
set -eu
cd "$(dirname "$0")/../.."

formatter=$(tools/lint/llvm14.sh clang-format)

# shellcheck disable=SC2046 # the folders are words
files=$(find include src $(tools/lint/network_folders.sh) tools tests launcher docs/examples \
  -name '*.h' -o -name '*.hpp' -o -name '*.c' -o -name '*.cc' 2>/dev/null |
  sort)
case ${1:-} in
--fix) printf '%s\n' "$files" | xargs "$formatter" -i ;;
'')
  if ! printf '%s\n' "$files" |
    xargs -P2 -n40 "$formatter" --dry-run --Werror --ferror-limit=1; then
    echo "Run tools/lint/check_format.sh --fix" >&2
    exit 1
  fi
  ;;
*)
  echo "usage: $0 [--fix]" >&2
  exit 2
  ;;
esac
