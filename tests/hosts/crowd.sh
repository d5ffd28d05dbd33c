#!/bin/sh
# A job of many hosts, or of many more ranks than cores. It fails after 60 s, the
# aim for 1,024 ranks; an optimised build takes 4 s on two cores. The program gets
# the number of ranks of a host.
#
#   with-hosts -n HOSTS -- crowd.sh RANKS_PER_HOST ACPRUN PROGRAM
set -eu
ranks=$1 acprun=$2 program=$3
hosts=$(echo "$HOST_LIST" | sed "s/:2/:$ranks/g")
output=$TMPDIR/output
begin=$(date +%s)
# shellcheck disable=SC2153,SC2016 # HOSTS is of with-hosts; for the inner shell
ip netns exec h1 unshare --uts sh -c 'hostname h1 && exec "$@"' job \
  "$acprun" -np $((ranks * HOSTS)) --host "$hosts" \
  --rsh "$HOST_TOOLS/in-host" --acp-startermemsize=16K --stats "$program" \
  "$ranks" >"$output" 2>&1 || {
  echo "FAILED"
  grep -v "^acprun: [0-9]* on " "$output" | cut -c1-300 | head -50
  exit 1
}
grep -E "exact|bytes each|udp sent" "$output"
took=$(($(date +%s) - begin))
echo "$took s"
test $took -le 60 || { echo "FAILED: longer than 60 s" && exit 1; }
