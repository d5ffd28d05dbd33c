#!/bin/bash
# What goes wrong ends with a line that says what, and soon. Pulls cables and
# kills, so only in the virtual machine of tests/rdma-vm, with two devices.
#
#   faults.sh BIN TESTS     places of acprun and of the test programs
set -u
bin=$1 tests=$2
here=$(cd "$(dirname "$0")" && pwd)
if test -z "${ACP_RDMA_VM:-}"; then
  echo "only in the virtual machine of tests/rdma-vm"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

# expect NAME STATUS TEXT COMMAND...: within a minute. STATUS may be "not 0".
expect() {
  local name=$1 wanted=$2 text=$3 begin=$SECONDS status
  shift 3
  timeout 60 "$@" >"$work/output" 2>&1
  status=$?
  if test "$wanted" = "not 0"; then
    test $status != 0 && test $status != 124
  else
    test $status = "$wanted"
  fi && grep -qE -- "$text" "$work/output"
  if test $? = 0; then
    echo "ok $name, $((SECONDS - begin)) s: $(grep -m1 -E -- "$text" "$work/output")"
    return
  fi
  echo "FAILED $name: status $status, wanted $wanted and '$text':"
  tail -n 20 "$work/output"
  failures=$((failures + 1))
}
job=("$bin/acprun" -np 2 "$tests/conformance/global_memory")
export ACP_NET=verbs ACP_SHM=off

# ---- What is missing at the start
expect "no such device" "not 0" '"mlx9_0" is no device.*rxe0 port 1 is active, at 10.77.0.1;' \
  env ACP_VERBS_DEVICES=mlx9_0 "${job[@]}"
expect "a device named twice" "not 0" 'is named twice' \
  env ACP_VERBS_DEVICES=rxe0,rxe0 "${job[@]}"
expect "locked memory" "not 0" 'may lock 262144 bytes .ulimit -l.' \
  setpriv --bounding-set=-ipc_lock --inh-caps=-ipc_lock \
  prlimit --memlock=262144 "${job[@]}"
# The kernel forgets the addresses' routes with the link or the address.
restore_eth1() {
  ip link set eth1 up
  ip addr replace 10.77.0.2/24 dev eth1
  ip route replace 10.77.0.0/24 dev eth1 src 10.77.0.2 table 101
}
ip link set eth1 down
expect "a port that is down" "not 0" 'rxe1 port 1 is down, without' \
  env ACP_VERBS_DEVICES=rxe1 "${job[@]}"
restore_eth1
ip addr flush dev eth1
expect "a port without address" "not 0" 'rxe1 port 1 is active, without an address' \
  env ACP_VERBS_DEVICES=rxe1 "${job[@]}"
restore_eth1
mv /dev/infiniband /dev/infiniband-away
expect "no /dev/infiniband" "not 0" 'there is no /dev/infiniband.*modprobe' \
  "${job[@]}"
mv /dev/infiniband-away /dev/infiniband

# ---- A wire that loses packets only makes it slower
for device in eth0 eth1; do
  tc qdisc add dev $device root netem loss 1% delay 1ms
done
expect "lost packets" 0 'ok failure_among_many' \
  "$here/as-hosts" "$bin/acprun" -np 2 "$tests/conformance/gma_failure"
expect "lost packets, atomics by devices" 0 'ok atomics_on_library_memory' \
  env ACP_VERBS_ATOMICS=device "$here/as-hosts" "$bin/acprun" -np 2 \
  "$tests/conformance/gma_atomic" atomics_on_library_memory
for device in eth0 eth1; do
  tc qdisc del dev $device root
done

# ---- A rank that dies ends the job with its status
for moment in in_init in_sync in_copy in_unregister in_wait in_channel \
  in_reset in_finalize; do
  rm -f "$work"/death*
  expect "a rank killed $moment" 137 'killed by signal 9' \
    env ACP_VERBS_DEVICES=rxe0 "$bin/acprun" -np 3 "$tests/fault/victim" \
    "$moment" kill "$work/death"
done
for moment in in_sync in_channel; do
  rm -f "$work"/death*
  expect "a rank killed $moment, atomics by devices" 137 'killed by signal 9' \
    env ACP_VERBS_DEVICES=rxe0 ACP_VERBS_ATOMICS=device "$bin/acprun" -np 3 \
    "$tests/fault/victim" "$moment" kill "$work/death"
done

# ---- A cable that is pulled while ranks on two devices copy: one side cannot
# send any more, the other gets no answer. Who notices first tells.
pull() {
  "$here/as-hosts" "$bin/acprun" -np 2 \
    "$tests/fault/victim" in_copy wait "$work/pulled" &
  for ((i = 0; i < 200; ++i)); do
    test -s "$work/pulled" && break
    sleep 0.1
  done
  ip link set eth1 down
  wait $!
}
export -f pull
export work here bin tests
expect "a link that goes down" "not 0" \
  'is lost: process [01] at 10.77.0.[12]:.*(retry counter|QP operation) e' \
  bash -c pull
restore_eth1
exit $((failures > 0))
