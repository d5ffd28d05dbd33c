#!/bin/sh
# Takes the network from a job, and looks how the job ends. In case ports each host
# lets only UDP of its narrowed range of ports pass, and the job does not notice.
#
#   with-hosts -- failures.sh CASE ACPRUN STEADY
set -eu
# shellcheck source=tests/hosts/eventually.sh
. "$HOST_TOOLS/eventually.sh"
case=$1 acprun=$2 steady=$3
seconds=60 stays_out='' limit_ms=15000
case $case in
returns) seconds=8 ;;
ports) seconds=2 ;;
vanishes.finalize) seconds=1 stays_out=4 ;;
esac
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

has_agent() { # host
  ip netns pids "$1" | grep -q .
}

# Whether a rank of one host reports that the other host does not answer.
names() { # rank, its host, other host
  grep -q "^acprun: rank $1 on h$2 at 10.88.0.$2 .*does not answer.* at 10.88.0.$3:" \
    "$output"
}

# The kernel chooses ports from this range, and the firewall drops all others.
narrow_ports() { # host
  ip netns exec "$1" sh -c \
    'echo 40000 40015 >/proc/sys/net/ipv4/ip_local_port_range'
  ip netns exec "$1" nft -f - <<RULES
table inet ports {
  chain input {
    type filter hook input priority 0;
    meta l4proto udp udp dport != 40000-40015 drop
    meta l4proto tcp drop
  }
}
RULES
}

needs_nft() {
  case $case in wall* | ports) return 0 ;; *) return 1 ;; esac
}

if needs_nft && ! ip netns exec h1 nft list ruleset 2>/dev/null; then
  echo "skipped: nft is not installed, or the kernel has no filter"
  exit 77
fi
if test "$case" = ports; then
  for host in $(seq "$HOSTS"); do
    narrow_ports "h$host"
  done
fi
# shellcheck disable=SC2086 # no word, or the rank that stays out of acp_finalize
"$HOST_TOOLS/job" "$acprun" --acp-startermemsize=1M "$steady" $seconds \
  $stays_out >"$output" 2>&1 &
job=$!
case $case in
vanishes.start) eventually has_agent h3 ;;
vanishes.finalize) eventually grep -q "stays out of acp_finalize" "$output" ;;
*) eventually grep -q "first round" "$output" ;;
esac || fail "the job did not begin"

begin=$(now_ms)
case $case in
vanishes.start)
  # The messages of acprun do not pass the bridge, so the start goes on. The
  # ranks of the other hosts need h3 after acp_init only.
  ip link set v3 down
  eventually grep -q "acp_init is over" "$output" || fail "no start without h3"
  begin=$(now_ms)
  ;;
vanishes*) ip link set v3 down ;;
returns)
  ip link set v3 down
  sleep 3 # the outage itself, not a wait for something
  ip link set v3 up
  ;;
wall) drop 2 3 && drop 3 2 ;;
wall.one_way) drop 2 3 ;;
esac
status=0
wait $job || status=$?
took=$(($(now_ms) - begin))

if test "$case" = returns || test "$case" = ports; then
  test $status = 0 || fail "status $status"
  grep -q "rounds were exact" "$output" || fail "the job said nothing"
else
  test $status != 0 || fail "the job ended well"
  test $took -le $limit_ms || fail "the job ended after $took ms"
fi
case $case in
vanishes*)
  # h3 misses the others as soon as they miss it.
  grep "^acprun: rank . on .* is lost: " "$output" |
    grep -q "10.88.0.3" || fail "acprun does not name h3"
  ;;
wall*)
  names "[23]" 2 3 || names "[45]" 3 2 || fail "acprun does not name both hosts"
  ;;
esac
for host in $(seq "$HOSTS"); do
  test -z "$(ip netns pids "h$host")" || fail "processes are left on h$host"
done
cat "$output"
echo "the job ended after $took ms"
