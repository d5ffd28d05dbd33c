#!/bin/sh
# Takes the network from a job that works, and looks how the job ends.
#
#   with-hosts -- failures.sh CASE ACPRUN STEADY
set -eu
# shellcheck source=tests/hosts/eventually.sh
. "$HOST_TOOLS/eventually.sh"
case=$1 acprun=$2 steady=$3
seconds=60
test "$case" != returns || seconds=8
output=$TMPDIR/output

fail() { # text
  echo "FAILED: $1"
  cat "$output"
  exit 1
}

# A host drops all UDP datagrams from another one; the other way is left open.
drop() { # by, from
  ip netns exec "h$1" nft -f - <<RULES
table inet wall {
  chain input {
    type filter hook input priority 0;
    ip saddr 10.88.0.$2 udp dport 1-65535 drop
  }
}
RULES
}

if test "$case" = wall && ! ip netns exec h1 nft list ruleset 2>/dev/null; then
  echo "skipped: nft is not installed, or the kernel has no filter"
  exit 77
fi
"$HOST_TOOLS/job" "$acprun" --acp-startermemsize=1M "$steady" $seconds \
  >"$output" 2>&1 &
job=$!
eventually grep -q "first round" "$output" || fail "the job did not begin"

begin=$(date +%s)
case $case in
vanishes) ip link set v3 down ;;
returns)
  ip link set v3 down
  sleep 3 # the outage itself, not a wait for something
  ip link set v3 up
  ;;
wall) drop 2 3 && drop 3 2 ;;
esac
status=0
wait $job || status=$?
took=$(($(date +%s) - begin))

case $case in
returns)
  test $status = 0 || fail "status $status"
  grep -q "rounds were exact" "$output" || fail "the job said nothing"
  ;;
vanishes)
  test $status != 0 || fail "the job ended well without h3"
  test $took -le 15 || fail "the job ended after $took s"
  # h3 misses the others as soon as they miss it.
  grep "^acprun: rank . on .* is lost: " "$output" |
    grep -q "10.88.0.3" || fail "acprun does not name h3"
  ;;
wall)
  test $status != 0 || fail "the job ended well with a wall in it"
  test $took -le 15 || fail "the job ended after $took s"
  grep -q "^acprun: rank [2345] on 10.88.0.[23] .*does not answer.* at 10.88.0.[23]:" \
    "$output" || fail "acprun does not name both hosts"
  ;;
esac
cat "$output"
