#!/bin/sh
# Attacks a host of a job that works: the memory stays exact, the job goes on, and
# the counters tell of each kind of attack. Packets of a job before it come, too.
#
#   with-hosts -- attackers.sh ACPRUN STEADY ATTACKER [PACKETS]
#
# Without PACKETS it takes 1,000,000 at full scale (ACP_TEST_SCALE=1).
set -eu
# shellcheck source=tests/hosts/eventually.sh
. "$HOST_TOOLS/eventually.sh"
acprun=$1 steady=$2 attacker=$3
output=$TMPDIR/output forged=$TMPDIR/forged earlier=$TMPDIR/earlier

fail() { # text
  echo "FAILED: $1"
  cat "$output" "$forged"
  exit 1
}

# The attacker sees the packets of a job that works, and forges packets. The job
# ends as soon as the attack is over, however slow the machine is.
attack() { # packets
  rm -f "$STEADY_UNTIL"
  : >"$output"
  : >"$forged"
  "$HOST_TOOLS/job" "$acprun" --stats --acp-startermemsize=1M "$steady" 3600 \
    >"$output" 2>&1 &
  job=$!
  eventually grep -q "first round" "$output" || fail "the job did not begin"
  "$attacker" v2 "$1" "$earlier" >"$forged" ||
    fail "the attacker could not begin"
  : >"$STEADY_UNTIL"
  status=0
  wait $job || status=$?
  test $status = 0 || fail "status $status"
  grep -q "rounds were exact" "$output" || fail "the job said nothing"
}

STEADY_UNTIL=$TMPDIR/over
export STEADY_UNTIL
packets=${4:-$(awk "BEGIN { print int(1000000 * ${ACP_TEST_SCALE:-0.1}) }")}
attack 5000
attack "$packets"
awk '$NF == 0 { exit 1 }' "$forged" || fail "a kind of attack was not sent"
awk -v wanted="$packets" '{ sum += $NF } END { exit sum < wanted }' "$forged" ||
  fail "fewer than $packets packets were sent"
for reason in malformed strays unknown corrupt replayed; do
  grep -q "dropped .* [1-9][0-9]* $reason" "$output" ||
    fail "no packet was dropped as $reason"
done
cat "$output" "$forged"
