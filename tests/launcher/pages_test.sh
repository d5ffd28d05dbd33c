#!/usr/bin/env bash
# Tests the texts that are made of acprun's table of options: --help, the manual and
# the completion have the same options, the page in docs/man is up to date, troff
# takes the manuals, and bash completes the words.
#
#   pages_test.sh <source tree> <acprun> <launcher_pages> <folder of the pages>
set -eu
source_dir=$1 acprun=$2 generator=$3 pages=$4
failed=0

fail() {
  echo "$1" >&2
  failed=1
}

same() { # same <what> <expected> <found>
  [ "$2" = "$3" ] || fail "$1: expected '$2', found '$3'"
}

# --- The same options everywhere.
in_help=$("$acprun" --help | grep -oE '^  -[a-z-]+( [A-Z]+)?(, -[a-z-]+)?' |
  tr ',' '\n' | sed -E 's/^ *//; s/ .*//' | sort)
# Names with one dash beside -h, -np and -v, and four with two, are of older scripts:
# --help and the completion do not offer them.
in_manual=$(grep -A1 '^\.TP' "$pages/acprun.1" | grep -oE '\\fB[^ =[\\]*(\\-[^ =[\\]*)+' |
  sed 's/\\fB//; s/\\-/-/g' | sort)
in_completion=$(sed -n "s/.*local options='\(.*\)'/\1/p" "$pages/acprun" |
  tr ' ' '\n' | sort)
[ "$(echo "$in_help" | wc -l)" -gt 20 ] || fail "--help has too few options"
same "completion" "$in_help" "$in_completion"
same "manual without names of older scripts" "$in_help" "$(echo "$in_manual" |
  grep -vxE -- '-(n|net|ndev|envnet|nodefile|machinefile|host|rsh|(starter|s)memsize(-[cd]l)?)|--acp-(envent|net|np|machinefile)')"

# --- The page in the source tree.
fresh=$(mktemp)
trap 'rm -f "$fresh"' EXIT
for name in acprun macprun; do
  "$generator" markdown "$source_dir/docs/man/$name.1.md" "$fresh"
  diff -u "$source_dir/docs/man/$name.1.md" "$fresh" >&2 ||
    fail "docs/man/$name.1.md is old: $generator markdown PAGE PAGE writes it"
done

# --- troff.
if command -v groff >/dev/null; then
  for page in "$pages"/*.1; do
    warnings=$(groff -man -ww -Tutf8 "$page" 2>&1 >/dev/null)
    same "groff of $page" "" "$warnings"
  done
fi

# --- bash. The completion of macprun is the same script with fewer options.
bash -n "$pages/macprun" || fail "the completion of macprun is no script"
# shellcheck disable=SC1091 # made while the project is built
. "$pages/acprun"

# completes <expected first replies> <word...>: the last word is completed.
completes() {
  expected=$1
  shift
  COMP_WORDS=(acprun "$@") COMP_CWORD=$# COMPREPLY=()
  _acprun
  same "completion of '$*'" "$expected" "${COMPREPLY[*]}"
}
nets=$("$acprun" --acp-envnet=nosuch true 2>&1 |
  sed 's/.*must be one of //; s/,//g; s/ and / /')
cd "$source_dir"
completes "--bind" --bi
completes "auto none core numa hwthread" --bind ""
completes "core" --bind = co
completes "core" -np 2 --bind c
completes "--bind=core" --bind=co
completes "$nets" --acp-envnet = ""
completes "$nets" -net ""
completes "$nets" prog --acp-envnet ""
completes "udp" prog a --acp-envnet = ud
completes "--acp-envnet" prog --acp-env
completes "" prog -- --acp-env
completes "" prog --bi
completes "" -- --bi
completes "launcher" -- prog launch
completes "launcher" prog a --acp-envnet = udp launch
completes "launcher" --wdir launch
completes "--timeout" --env A = B --timeo
completes "CHANGELOG.md" --acp-nodefile = CHANGE
completes "CHANGELOG.md" -np 2 --env A = B prog CHANGE
completes "-np" -n 2 -np
exit $failed
