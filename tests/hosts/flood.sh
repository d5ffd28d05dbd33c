#!/bin/sh
# Floods a host of a job that works with 100,000 forged packets a second. The job
# goes on meanwhile, its results are exact, and the memory of its ranks is as it
# was.
#
#   with-hosts -- flood.sh ACPRUN STEADY FLOODER
set -eu
# shellcheck source=tests/hosts/eventually.sh
. "$HOST_TOOLS/eventually.sh"
acprun=$1 steady=$2 flooder=$3
rate=100000
output=$TMPDIR/output flood=$TMPDIR/flood
most_growth=256 # KiB of one rank; 3 bytes for each packet would be more

fail() { # text
  echo "FAILED: $1"
  cat "$output" "$flood"
  exit 1
}

# KiB of anonymous memory of the ranks on h2, one a line.
memory() {
  for pid in $(ip netns pids h2); do
    test "$(cat "/proc/$pid/comm")" != steady ||
      awk '/^RssAnon/ { print $2 }' "/proc/$pid/status"
  done
}

accepted() { # by the interface that leads to h2, from all
  awk '$1 == "v2:" { print $11 }' /proc/net/dev
}

rounds() {
  grep -c "^round" "$output"
}

# Whether the interface has accepted so many packets and the job has made a round.
has_gone_on() { # packets, rounds before
  test $(($(accepted) - before)) -ge "$1" && test "$(rounds)" -gt "$2"
}

flood_of() { # packets
  before=$(accepted)
  "$flooder" v2 $rate >>"$flood" 2>&1 &
  flooding=$!
  eventually has_gone_on "$1" "$(rounds)" ||
    fail "the job stands still, or the flood does: $(accepted) - $before"
  kill -TERM $flooding
  wait $flooding || fail "the flood could not begin"
  sent=$(tail -n 1 "$flood" | awk '{ print $2 }')
  test $(($(accepted) - before)) -ge "$sent" ||
    fail "the interface has not accepted what the flood has counted"
}

STEADY_UNTIL=$TMPDIR/over
export STEADY_UNTIL
"$HOST_TOOLS/job" "$acprun" --stats --acp-startermemsize=1M "$steady" 3600 \
  >"$output" 2>&1 &
job=$!
eventually grep -q "first round" "$output" || fail "the job did not begin"
# Buffers of the ranks grow as a busy network needs them.
flood_of 20000
before_flood=$(memory)
flood_of 200000
after_flood=$(memory)
echo "sockets of h2:"
ip netns exec h2 awk '/^Udp:/' /proc/net/snmp
# shellcheck disable=SC2086 # the numbers of the ranks are words
echo "memory of the ranks in KiB: before" $before_flood, after $after_flood
# shellcheck disable=SC2086
set -- $before_flood
test $# = 2 || fail "h2 has not two ranks"
for now in $after_flood; do
  test $((now - $1)) -le $most_growth || fail "a rank has grown by more"
  shift
done
: >"$STEADY_UNTIL"
status=0
wait $job || status=$?
test $status = 0 || fail "status $status"
grep -q "rounds were exact" "$output" || fail "the job said nothing"
for reason in malformed strays unknown corrupt replayed; do
  grep -q "dropped .* [1-9][0-9]* $reason" "$output" ||
    fail "no packet was dropped as $reason"
done
cat "$output" "$flood"
