#!/bin/sh
# Jobs with known traffic on two hosts: the report of acprun has the counts of both
# hosts, exact to the byte, also those of a rank that is killed.
#
#   with-hosts -n 2 -- counters.sh ACPRUN COUNTED CHECK
set -eu
acprun=$1 counted=$2 check=$3
report=$TMPDIR/report.json

run() { # STATUS PATTERN BYTES TIMES
  expected=$1
  shift
  status=0
  "$HOST_TOOLS/job" "$acprun" "--stats=json:$report" "$counted" "$@" \
    >"$TMPDIR/out" 2>&1 || status=$?
  test "$status" = "$expected" || {
    cat "$TMPDIR/out"
    echo "FAILED: $1 has ended with $status"
    exit 1
  }
}

for pattern in ring all_to_one halo channel; do
  run 0 $pattern 1000 20
  "$check" "$report" $pattern 1000 20 direct udp
done
run 0 registered 5000 20
"$check" "$report" registered 5000 20 cma udp
# Rank 2 is the first one of the second host, so its daemon counts the neighbour of
# the killed rank.
run 137 killed 1000 20
"$check" "$report" killed 1000 20 direct udp
