#!/bin/sh
# Jobs on hosts with several interfaces: eth0, eth1 in a network of its own, and
# docker0, which has the same address on each host, as with Docker. By default only
# eth0 carries datagrams. ACP_UDP_INTERFACES chooses eth0 and eth1, one color each,
# by name and by subnet; then both carry datagrams. docker0 never carries a packet.
#
#   with-hosts -n 2 -- interfaces.sh ACPRUN CONTENTION
set -eu
acprun=$1 contention=$2
output=$TMPDIR/output

fail() { # text
  echo "FAILED: $1"
  cat "$output"
  exit 1
}

ip link add bridge1 type bridge
ip link set bridge1 up
for host in $(seq "$HOSTS"); do
  ip link add "w$host" type veth peer name eth1 netns "h$host"
  ip link set "w$host" master bridge1 up
  # The bridge and its container. Without multicast the kernel sends nothing there.
  ip -n "h$host" link add docker0 type bridge mcast_snooping 0
  ip -n "h$host" link add port type veth peer name container
  ip -n "h$host" link set port master docker0
  for interface in eth1 docker0 port container; do
    ip netns exec "h$host" sh -c \
      "echo 1 >/proc/sys/net/ipv6/conf/$interface/disable_ipv6" || true
    ip -n "h$host" link set $interface up
  done
  ip -n "h$host" address add "10.89.0.$host/24" dev eth1
  ip -n "h$host" address add 172.17.0.1/16 dev docker0
done

# Packets that an interface has sent since reset_counts.
sent_by() { # host, interface
  ip netns exec "h$1" cat /proc/net/dev |
    awk -v name="$2:" -v before="$(cat "$TMPDIR/$1.$2" 2>/dev/null || echo 0)" \
      '$1 == name { print $11 - before }'
}

reset_counts() {
  for host in $(seq "$HOSTS"); do
    for interface in eth0 eth1 docker0; do
      rm -f "$TMPDIR/$host.$interface"
      sent_by "$host" $interface >"$TMPDIR/count"
      mv "$TMPDIR/count" "$TMPDIR/$host.$interface"
    done
  done
}

# Runs the job, and looks how many packets each interface has sent. Each rank adds
# by each color at least 1,000 times to memory of rank 0, and 64 at once.
expect() { # case, least packets of eth0, least and most of eth1
  reset_counts
  "$HOST_TOOLS/job" "$acprun" "$contention" colors >"$output" 2>&1 ||
    fail "$1: the job failed"
  for host in $(seq "$HOSTS"); do
    eth0=$(sent_by "$host" eth0)
    eth1=$(sent_by "$host" eth1)
    docker0=$(sent_by "$host" docker0)
    echo "$1: h$host sent $eth0 packets by eth0, $eth1 by eth1, $docker0 by docker0"
    test "$eth0" -ge "$2" || fail "eth0 was not used"
    test "$eth1" -ge "$3" || fail "eth1 was not used"
    test "$eth1" -le "$4" || fail "eth1 was used"
    test "$docker0" = 0 || fail "docker0 was used"
  done
}

# eth1 and docker0 exist for the default as well.
expect default 30 0 0
export ACP_UDP_INTERFACES=eth0,eth1
expect names 30 30 1000000
ACP_UDP_INTERFACES=10.88.0.0/24,10.89.0.0/24
expect subnets 30 30 1000000
