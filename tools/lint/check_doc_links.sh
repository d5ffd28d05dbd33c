#!/bin/sh
# lint.docs: relative links of the Markdown pages lead to files that exist,
# and their #fragments to headings.
#
#   tools/lint/check_doc_links.sh [tree]
set -eu
cd "${1:-$(dirname "$0")/../..}"

# The fragments of a page's headings, one a line, as Git forges make them.
headings() {
  awk '/^```/ { code = !code } !code && /^#+ /' "$1" |
    sed -E 's/^#+ +//; s/`//g' | tr '[:upper:]' '[:lower:]' |
    sed -E 's/[^a-z0-9 _-]//g; s/ /-/g'
}

# The links of a page, code blocks left out, one a line.
links() {
  awk '/^```/ { code = !code } !code' "$1" |
    { grep -oE '\]\([^) ]+\)' || true; } | sed -E 's/^\]\(//; s/\)$//'
}

broken=0 count=0
pages=$(find . -maxdepth 1 -name '*.md')
test ! -d docs || pages="$pages $(find docs -name '*.md')"
for page in $pages; do
  for link in $(links "$page"); do
    case $link in
    http://* | https://* | mailto:*) continue ;;
    esac
    count=$((count + 1))
    path=${link%%#*} fragment=
    case $link in *'#'*) fragment=${link#*#} ;; esac
    target=$page
    test -z "$path" || target=$(dirname "$page")/$path
    if ! test -e "$target"; then
      echo "$page: $link: there is no $path" >&2
      broken=1
    elif test -n "$fragment" && ! headings "$target" |
      grep -qxF -- "$fragment"; then
      echo "$page: $link: no heading makes #$fragment" >&2
      broken=1
    fi
  done
done
test $broken = 0 && echo "$count links resolve"
exit $broken
