#!/bin/sh
# A job of many hosts, or of many more ranks than cores. It fails after LIMIT seconds,
# or 60, the aim for 1,024 ranks; an optimised build takes 4 s on two cores. The
# program gets the number of ranks of a host.
#
#   with-hosts -n HOSTS -- crowd.sh RANKS_PER_HOST ACPRUN PROGRAM [LIMIT]
set -eu
ranks=$1 acprun=$2 program=$3 limit=${4:-60}
output=$TMPDIR/output
begin=$(date +%s)
"$HOST_TOOLS/job" -r "$ranks" "$acprun" --acp-startermemsize=16K --stats "$program" \
  "$ranks" >"$output" 2>&1 || {
  echo "FAILED"
  grep -v "^acprun: [0-9]* on " "$output" | cut -c1-300 | head -50
  exit 1
}
grep -E "exact|bytes each|udp sent" "$output"
took=$(($(date +%s) - begin))
echo "$took s"
test "$took" -le "$limit" || { echo "FAILED: longer than $limit s" && exit 1; }
