#!/bin/sh
# Shrinks the MTU of the network from 9000 to 1500 while a job works: of all
# interfaces ("hosts"), or of the router between the hosts ("router"), which does not
# tell them. The job goes on soon, nothing is lost, and the datagrams fit the path.
#
#   with-hosts -m 9000 [-r] -- mtu.sh hosts|router ACPRUN STEADY
set -eu
# shellcheck source=tests/hosts/eventually.sh
. "$HOST_TOOLS/eventually.sh"
case=$1 acprun=$2 steady=$3
output=$TMPDIR/output
limit=10 # s; the path is usually known after two time-outs
STEADY_UNTIL=$TMPDIR/over ACP_STATS=$TMPDIR/stats
export STEADY_UNTIL ACP_STATS

fail() { # text
  echo "FAILED: $1"
  cat "$output"
  exit 1
}

rounds() {
  grep -c "^round" "$output"
}

has_more_rounds_than() { # number
  test "$(rounds)" -gt "$1"
}

shrink() {
  if test "$case" = hosts; then
    for host in $(seq "$HOSTS"); do
      ip -n "h$host" link set eth0 mtu 1500
      ip link set "v$host" mtu 1500
    done
  fi
  ip link set bridge mtu 1500
}

# The sizes of datagrams to the peers of other hosts, one a line.
sizes() {
  grep -ho '"datagram_bytes": *[0-9]*' "$TMPDIR"/stats.* | grep -o '[0-9]*$'
}

# The datagrams that kernels have divided, because they were made for the larger
# path: FragOKs, field 18 of the line.
divided() {
  {
    cat /proc/net/snmp
    for host in $(seq "$HOSTS"); do
      ip netns exec "h$host" cat /proc/net/snmp
    done
  } | awk '$1 == "Ip:" && $2 != "Forwarding" { sum += $18 } END { print sum }'
}

"$HOST_TOOLS/job" "$acprun" --stats --acp-startermemsize=1M \
  "$steady" 120 >"$output" 2>&1 &
job=$!
eventually has_more_rounds_than 2 || fail "the job did not begin"
shrink
begin=$(date +%s)
# The second line from here on tells of rounds that began on the smaller path.
eventually has_more_rounds_than $(($(rounds) + 1)) || fail "the job stands still"
took=$(($(date +%s) - begin))
: >"$STEADY_UNTIL"
status=0
wait $job || status=$?
test $status = 0 || fail "status $status"
grep -q "rounds were exact" "$output" || fail "the job said nothing"
test $took -le $limit || fail "the job went on after $took s"
cat "$output"
echo "the job went on within $took s; $(divided) datagrams were divided;"
echo "at the end datagrams to this many peers have these bytes:"
sizes | sort | uniq -c
test "$(divided)" -gt 0 || fail "no datagram was larger than the path"
test -n "$(sizes)" || fail "the ranks have left no statistics"
test -z "$(sizes | awk '$1 > 1472')" || fail "a datagram is too large"
