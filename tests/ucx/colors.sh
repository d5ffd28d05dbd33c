#!/bin/sh
# A job in eight colors, whose address cards take more than a kilobyte: more than
# the 512 bytes that other networks have.
#
#   colors.sh <acprun> <infrastructure>
set -eu
acprun=$1 program=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export ACP_LOG=debug

"$acprun" -np 3 "$program" >"$work/output" 2>&1 || {
  cat "$work/output"
  exit 1
}
sed -n 's/.*an address card of \([0-9]*\) bytes.*/\1/p' "$work/output" >"$work/sizes"
if [ "$(awk '$1 > 1024' "$work/sizes" | wc -l)" -ne 3 ]; then
  echo "FAILED: not each rank has an address card of more than 1,024 bytes:"
  cat "$work/sizes"
  exit 1
fi
