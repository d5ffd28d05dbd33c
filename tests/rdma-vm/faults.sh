#!/bin/bash
# Tests that each fault of a device or a rank ends the job soon, with a line that
# names the fault. The script pulls cables and kills processes, so it runs only
# in the virtual machine of tests/rdma-vm, with two devices.
#
#   faults.sh BIN TESTS [full]   directories of acprun and of the test programs;
#                                full: all moments at which a rank or a device
#                                can go, and not only the ones that differ most
set -u
bin=$1 tests=$2 full=${3:-}
here=$(cd "$(dirname "$0")" && pwd)
if test -z "${ACP_RDMA_VM:-}"; then
  echo "only in the virtual machine of tests/rdma-vm"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

# The functions below start no program where the shell can do it: in an emulated
# machine each program takes as long as a third of a job.

# A line of the file that matches the extended regular expression.
first_match() { # file, text
  local line
  while IFS= read -r line; do
    [[ $line =~ $2 ]] && echo "$line" && return
  done <"$1"
  return 1
}

# What a job has left: processes, and names of memory.
left() {
  local process name
  for process in /proc/[0-9]*; do
    { read -r name <"$process/comm"; } 2>/dev/null || continue
    case $name in acprun | victim) echo "${process#/proc/} $name" ;; esac
  done
  for name in /dev/shm/*; do
    test ! -e "$name" || echo "$name"
  done
}

# expect NAME STATUS TEXT COMMAND...: within a minute, and leaves nothing behind.
# STATUS may be "not 0".
expect() {
  local name=$1 wanted=$2 text=$3 begin=$SECONDS status left line i
  shift 3
  timeout 60 "$@" >"$work/output" 2>&1
  status=$?
  for ((i = 0; i < 50; ++i)); do  # what was killed may be on its way
    left=$(left)
    test -z "$left" && break
    sleep 0.1
  done
  if test -n "$left"; then
    echo "left behind: $left" >>"$work/output"
    status=124
  fi
  if test "$wanted" = "not 0"; then
    test $status != 0 && test $status != 124
  else
    test $status = "$wanted"
  fi && line=$(first_match "$work/output" "$text")
  if test $? = 0; then
    echo "ok $name, $((SECONDS - begin)) s: $line"
    return
  fi
  echo "FAILED $name: status $status, wanted $wanted and '$text':"
  tail -n 20 "$work/output"
  failures=$((failures + 1))
}
# also TEXT: the output of the last command has another line, too.
also() {
  first_match "$work/output" "$1" && return
  echo "FAILED: no '$1' in"
  cat "$work/output"
  failures=$((failures + 1))
}
job=("$bin/acprun" -np 2 "$tests/conformance/global_memory")
export ACP_NET=verbs ACP_SHM=off

# ---- Devices, addresses or rights that are missing at the start
expect "no such device" "not 0" '"mlx9_0" is no device.*rxe0 port 1 is active, at 10.77.0.1;' \
  env ACP_VERBS_DEVICES=mlx9_0 "${job[@]}"
expect "a device named twice" "not 0" 'is named twice' \
  env ACP_VERBS_DEVICES=rxe0,rxe0 "${job[@]}"
expect "a device by a subnet that it has not" "not 0" \
  '"10.99.0.0/16" is no interface, address or subnet' \
  env ACP_VERBS_DEVICES=rxe0@10.99.0.0/16 "${job[@]}"
# A port with a second address, and with a VLAN.
ip addr add 10.78.0.1/24 dev eth0
ip link add link eth0 name eth0.7 type vlan id 7
ip addr add 10.79.0.1/24 dev eth0.7
ip link set eth0.7 up
expect "a device by a subnet" 0 'color 0 is rxe0 port 1 at 10.78.0.1:' \
  env ACP_LOG=debug ACP_VERBS_DEVICES=rxe0@10.78.0.0/16 "${job[@]}" \
  starter_memory
expect "a device by a VLAN" 0 'color 0 is rxe0 port 1 at 10.79.0.1:.*class 104$' \
  env ACP_LOG=debug ACP_VERBS_TRAFFIC_CLASS=104 ACP_VERBS_DEVICES=rxe0:1@eth0.7 \
  "${job[@]}" starter_memory
ip link del eth0.7
ip addr del 10.78.0.1/24 dev eth0
expect "locked memory" "not 0" 'may lock 262144 bytes .ulimit -l.' \
  setpriv --bounding-set=-ipc_lock --inh-caps=-ipc_lock \
  prlimit --memlock=262144 "${job[@]}"
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
  env ACP_VERBS_DEVICES=rxe1 "${job[@]}"
restore 1
ip addr flush dev eth1
expect "a port without address" "not 0" 'rxe1 port 1 is active, without an address' \
  env ACP_VERBS_DEVICES=rxe1 "${job[@]}"
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
# The GID of RoCE v2 that belongs to the IPv4 address, and what libibverbs tells.
expect "acp_info: GIDs" 0 'GID .*:ffff:0a4d:0001 RoCE v2, eth0' "$bin/acp_info"
also 'atomics  *between queue pairs; max_qp_rd_atom [1-9]'
expect "acp_info --job" 0 "0-1 .*0: rxe0 port 1, eth0 at 10.77.0.1, relaxed writes; 1: rxe1 port 1, eth1 at" \
  env ACP_LOG=info ACP_VERBS_WRITES=relaxed ACP_VERBS_ATOMICS=agent \
  "$bin/acprun" -np 2 "$bin/acp_info" --job
also "atomics  *by the owner's agent .ACP_VERBS_ATOMICS=agent."
also 'ACP_VERBS_WRITES=relaxed: puts end with a read .*, and memory is registered'
# The rank that makes the directory first has the other value.
# shellcheck disable=SC2016 # the shell of a rank expands them
expect "ranks that disagree on the order of writes" "not 0" \
  'rank [01] has ACP_VERBS_WRITES=(un)?ordered, this one (un)?ordered: give' \
  "$bin/acprun" -np 2 sh -c 'mkdir "$1" 2>/dev/null &&
    export ACP_VERBS_WRITES=unordered
    exec "$2"' sh "$work/turn" "$tests/conformance/global_memory"
expect "a device for each rank of a host" 0 \
  " 1 .*0: rxe1 port 1, eth1 at 10.77.0.2; 1: rxe2 port 1, .*3: rxe0 port 1" \
  env ACP_VERBS_RAILS=local ACP_VERBS_ATOMICS=auto "$bin/acprun" -np 2 \
  "$bin/acp_info" --job
also "atomics  *by the owner.s agent .the atomics of rxe0 port 1 agree only with .*ranks 0"
expect "why a device" 0 'verbs: rxe1 port 1 .node unknown, near. is color 1' \
  env ACP_LOG=debug "${job[@]}" starter_memory
expect "iWARP" "not 0" \
  '"rxe0" is no device.*rxe0 is left out: it is iWARP, which has no sends with' \
  env ACP_VERBS_DEVICES=rxe0 RDMA_SPOOF=iwarp \
  LD_PRELOAD="$tests/rdma-vm/libverbs_spoof.so" "${job[@]}"
mv /dev/infiniband /dev/infiniband-away
expect "no /dev/infiniband" "not 0" 'there is no /dev/infiniband.*modprobe' \
  "${job[@]}"
mv /dev/infiniband-away /dev/infiniband

# ---- A network that loses packets only makes the job slower
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
moments="in_init in_copy in_wait"
test -z "$full" ||
  moments="$moments in_sync in_unregister in_channel in_reset in_finalize"
for moment in $moments; do
  rm -f "$work"/death*
  expect "a rank killed $moment" 137 'killed by signal 9' \
    env ACP_VERBS_DEVICES=rxe0 "$bin/acprun" -np 3 "$tests/fault/victim" \
    "$moment" kill "$work/death"
done
for moment in in_channel ${full:+in_sync}; do
  rm -f "$work"/death*
  expect "a rank killed $moment, atomics by devices" 137 'killed by signal 9' \
    env ACP_VERBS_DEVICES=rxe0 ACP_VERBS_ATOMICS=device "$bin/acprun" -np 3 \
    "$tests/fault/victim" "$moment" kill "$work/death"
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
  env ACP_VERBS_ACK_TIMEOUT=250 ACP_VERBS_RETRIES=2 bash -c 'amid in_copy ip link set eth1 down'
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
