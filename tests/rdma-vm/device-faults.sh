#!/bin/bash
# Tests that each fault of a device ends the job soon, with a line that names the
# fault: an address, link, device or device file that is missing, a cable that is
# pulled, a device that is removed. The script changes the devices of all processes,
# so it runs only in the virtual machine of tests/rdma-vm, with two devices, and no
# other test of devices runs meanwhile.
#
#   device-faults.sh BIN TESTS [full]   directories of acprun and of the test
#                                       programs; full: all moments at which a device
#                                       can go, and not only the one that differs most
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source-path=SCRIPTDIR
. "$here/expect.sh"
bin=$1 tests=$2 full=${3:-}
job=("$bin/acprun" -np 2 "$tests/conformance/global_memory")
export ACP_NET=verbs ACP_SHM=off

# ---- Addresses, links or files that are missing at the start
# A port with a second address, and with a VLAN.
ip addr add 10.78.0.1/24 dev eth0
ip link add link eth0 name eth0.7 type vlan id 7
ip addr add 10.79.0.1/24 dev eth0.7
ip link set eth0.7 up
expect "a device by a subnet" 0 'color 0 is rxe0 port 1 at 10.78.0.1:' \
  ACP_LOG=debug ACP_VERBS_DEVICES=rxe0@10.78.0.0/16 "${job[@]}" \
  starter_memory
expect "a device by a VLAN" 0 'color 0 is rxe0 port 1 at 10.79.0.1:.*class 104$' \
  ACP_LOG=debug ACP_VERBS_TRAFFIC_CLASS=104 ACP_VERBS_DEVICES=rxe0:1@eth0.7 \
  "${job[@]}" starter_memory
ip link del eth0.7
ip addr del 10.78.0.1/24 dev eth0
# restore N: link, address and route of ethN, as the machine began with. The
# kernel forgets the routes with the link or the address.
restore() {
  ip link set "eth$1" up
  ip addr replace "10.77.0.$(($1 + 1))/24" dev "eth$1"
  ip route replace 10.77.0.0/24 dev "eth$1" src "10.77.0.$(($1 + 1))" \
    table $((100 + $1))
}
ip link set eth1 down
expect "a port that is down" "not 0" 'rxe1 port 1 is down, without' \
  ACP_VERBS_DEVICES=rxe1 "${job[@]}"
restore 1
ip addr flush dev eth1
expect "a port without address" "not 0" 'rxe1 port 1 is active, without an address' \
  ACP_VERBS_DEVICES=rxe1 "${job[@]}"
# acp_info names the port that cannot be used, and says that the other one can.
expect "acp_info: a port without address" 1 \
  'rxe0 port 1 active .* at 10.77.0.1; rxe1 port 1 active .*left out: no IP address: sudo ip addr add ADDRESS/BITS dev eth1' \
  "$bin/acp_info" --check
networks=$(cd /sys/class/net && echo eth*)
for network in $networks; do
  ip addr flush dev "$network"
done
expect "acp_info: no port with an address" 1 \
  'optional  ib  .*rxe0 port 1 active .*left out: no IP address.* dev eth0' \
  "$bin/acp_info" --check
for network in $networks; do
  restore "${network#eth}"
done
mv /dev/infiniband /dev/infiniband-away
expect "no /dev/infiniband" "not 0" 'there is no /dev/infiniband.*modprobe' \
  "${job[@]}"
mv /dev/infiniband-away /dev/infiniband

# ---- A network that loses packets only makes the job slower. Each loss costs the
# time-out of a device.
for device in eth0 eth1; do
  tc qdisc add dev $device root netem loss 1% delay 1ms
done
expect "lost packets" 0 'ok failure_among_many' \
  ACP_VERBS_ACK_TIMEOUT=250 "$here/as-hosts" "$bin/acprun" -np 2 "$tests/conformance/gma_failure"
expect "lost packets, atomics by devices" 0 'ok atomics_on_library_memory' \
  ACP_VERBS_ATOMICS=device ACP_VERBS_ACK_TIMEOUT=250 "$here/as-hosts" \
  "$bin/acprun" -np 2 "$tests/conformance/gma_atomic" atomics_on_library_memory
for device in eth0 eth1; do
  tc qdisc del dev $device root
done

# amid MOMENT COMMAND...: a job whose ranks have a device each, the command once
# they are that far, and the job's status.
amid() {
  local moment=$1 job i
  shift
  rm -f "$work/there"
  "$here/as-hosts" "$bin/acprun" -np 2 \
    "$tests/fault/victim" "$moment" wait "$work/there" &
  job=$!
  for ((i = 0; i < 300; ++i)); do
    test -s "$work/there" && break
    kill -0 $job 2>/dev/null || break
    sleep 0.1
  done
  test -s "$work/there" && "$@"
  wait $job
}
# The device as new, when the kernel has everything of it.
renew_rxe1() {
  rdma link show rxe1/1 >/dev/null 2>&1 && rdma link delete rxe1
  rdma link add rxe1 type rxe netdev eth1
  for ((i = 0; i < 300; ++i)); do
    ibv_devinfo -d rxe1 -v 2>/dev/null | grep -q PORT_ACTIVE &&
      grep -qi 'ffff:0a4d:0002' /sys/class/infiniband/rxe1/ports/1/gids/* &&
      return
    sleep 0.1
  done
  echo "rxe1 does not come back"
}
export -f amid
export work here bin tests

# ---- A cable that is pulled while ranks on two devices copy: one side cannot
# send any more, the other gets no answer. The side that notices first says so.
# The time-outs are short; verbs.machines loses a machine with those of the
# library.
expect "a link that goes down" "not 0" \
  'is lost: rank [01] at 10.77.0.[12]:.*(retry counter|QP operation) e' \
  ACP_VERBS_ACK_TIMEOUT=250 ACP_VERBS_RETRIES=2 bash -c 'amid in_copy ip link set eth1 down'
restore 1
# Since then rxe1 takes no requests for connections: docs/verbs.md, "rxe".
renew_rxe1

# ---- A device that is taken away. rxe goes only when nobody has it open, and
# the command waits for that: both end.
for moment in in_copy ${full:+in_channel in_wait}; do
  expect "a device that is removed, $moment" "not 0" \
    'is lost: rank [01] at 10.77.0.2:.* by rxe1 port 1: the device was removed' \
    bash -c "amid $moment rdma link delete rxe1"
  renew_rxe1
done
expect "a device that has come back" 0 'ok failure_among_many' \
  "$here/as-hosts" "$bin/acprun" -np 2 "$tests/conformance/gma_failure" \
  failure_among_many
exit $((failures > 0))
