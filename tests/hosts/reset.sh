#!/bin/sh
# Ranks in acp_reset while rank 1, on another host, is in another call: the job
# ends, and names rank 1.
#
#   with-hosts -n 3 -- reset.sh ACPRUN VICTIM
set -eu
acprun=$1 victim=$2
output=$TMPDIR/output

for other in finalize sync sync_on sync_reset open; do
  status=0
  "$HOST_TOOLS/job" -r 1 "$acprun" "$victim" reset_beside $other - \
    >"$output" 2>&1 || status=$?
  # 124 and above 128: a time limit, or a signal.
  if test $status != 0 && test $status != 1 && test $status != 125 ||
    ! grep -q "acp_reset.*rank 1 is in acp_\|rank 1 .*acp_reset" "$output"; then
    echo "FAILED: acp_reset beside $other: status $status"
    cat "$output"
    exit 1
  fi
done
