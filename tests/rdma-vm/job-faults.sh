#!/bin/bash
# Tests that a job ends soon where its settings or rights are wrong, or where a rank
# dies, with a line that names the reason; and what acp_info says of the devices. The
# script changes no device, so other tests may run meanwhile. It expects the addresses
# of the virtual machine of tests/rdma-vm.
#
#   job-faults.sh BIN TESTS [full]   directories of acprun and of the test programs;
#                                    full: all moments at which a rank can die, and
#                                    not only the ones that differ most
set -u
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/expect.sh"
bin=$1 tests=$2 full=${3:-}
job=("$bin/acprun" -np 2 "$tests/conformance/global_memory")
export ACP_NET=verbs ACP_SHM=off

# ---- Devices or rights that are missing at the start
expect "no such device" "not 0" '"mlx9_0" is no device.*rxe0 port 1 is active, at 10.77.0.1;' \
  ACP_VERBS_DEVICES=mlx9_0 "${job[@]}"
expect "a device named twice" "not 0" 'is named twice' \
  ACP_VERBS_DEVICES=rxe0,rxe0 "${job[@]}"
expect "a device by a subnet that it has not" "not 0" \
  '"10.99.0.0/16" is no interface, address or subnet' \
  ACP_VERBS_DEVICES=rxe0@10.99.0.0/16 "${job[@]}"
expect "locked memory" "not 0" 'may lock 262144 bytes .ulimit -l.' \
  setpriv --bounding-set=-ipc_lock --inh-caps=-ipc_lock \
  prlimit --memlock=262144 "${job[@]}"
expect "iWARP" "not 0" \
  '"rxe0" is no device.*rxe0 is left out: it is iWARP, which has no sends with' \
  ACP_VERBS_DEVICES=rxe0 RDMA_SPOOF=iwarp \
  LD_PRELOAD="$tests/rdma-vm/libverbs_spoof.so" "${job[@]}"

# ---- What is said of the devices
# The GID of RoCE v2 that belongs to the IPv4 address, and what libibverbs tells.
expect "acp_info: GIDs" 0 'GID .*:ffff:0a4d:0001 RoCE v2, eth0' "$bin/acp_info"
also 'atomics  *between queue pairs; max_qp_rd_atom [1-9]'
expect "acp_info --job" 0 "0-1 .*0: rxe0 port 1, eth0 at 10.77.0.1, relaxed writes; 1: rxe1 port 1, eth1 at" \
  ACP_LOG=info ACP_VERBS_WRITES=relaxed ACP_VERBS_ATOMICS=agent \
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
  ACP_VERBS_RAILS=local ACP_VERBS_ATOMICS=auto "$bin/acprun" -np 2 \
  "$bin/acp_info" --job
also "atomics  *by the owner.s agent .the atomics of rxe0 port 1 agree only with .*ranks 0"
expect "why a device" 0 'verbs: rxe1 port 1 .node unknown, near. is color 1' \
  ACP_LOG=debug "${job[@]}" starter_memory

# ---- A rank that dies ends the job with its status
moments="in_init in_copy in_wait"
test -z "$full" ||
  moments="$moments in_sync in_unregister in_channel in_reset in_finalize"
for moment in $moments; do
  rm -f "$work"/death*
  expect "a rank killed $moment" 137 'killed by signal 9' \
    ACP_VERBS_DEVICES=rxe0 "$bin/acprun" -np 3 "$tests/fault/victim" \
    "$moment" kill "$work/death"
done
for moment in in_channel ${full:+in_sync}; do
  rm -f "$work"/death*
  expect "a rank killed $moment, atomics by devices" 137 'killed by signal 9' \
    ACP_VERBS_DEVICES=rxe0 ACP_VERBS_ATOMICS=device "$bin/acprun" -np 3 \
    "$tests/fault/victim" "$moment" kill "$work/death"
done
exit $((failures > 0))
