#!/bin/sh
# Memory that four threads of each rank register and unregister, and that peers
# use meanwhile: the ranks tell each other keys of it, and revoke them, again and
# again.
#
#   registrations.sh <acprun> <stress>
set -eu
acprun=$1 program=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export ACP_LOG=debug

"$acprun" -np 2 "$program" four_threads_lend >"$work/output" 2>&1 || {
  cat "$work/output"
  exit 1
}
# Each rank logs how many registrations it has told its peers of, and how many
# regions it has revoked.
sed -n 's/.* told of \([0-9]*\), revoked \([0-9]*\) regions.*/\1 \2/p' \
  "$work/output" >"$work/counts"
if [ "$(awk '$1 >= 40 && $2 >= 40' "$work/counts" | wc -l)" -ne 2 ]; then
  echo "FAILED: not each rank has told of 40 registrations and revoked 40 regions:"
  cat "$work/counts"
  exit 1
fi
