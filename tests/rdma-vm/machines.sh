#!/bin/bash
# Tests jobs over two machines: two kernels, an RDMA device in each, and acprun's
# default, ssh, between them. The last job loses one of the machines. Runs only
# in the first machine of `tests/rdma-vm/run -c 2`.
#
#   machines.sh BUILD [full]   the folder of a build; full: all cases of the
#                              programs, and not only those that differ most
set -u
bin=$1/bin tests=$1/tests full=${2:-}
# shellcheck source=tests/hosts/eventually.sh
. "$(dirname "$0")/../hosts/eventually.sh"
if test -z "${ACP_RDMA_VM:-}" || test "$(hostname)" != rdma-vm1; then
  echo "only in the first machine of tests/rdma-vm/run -c 2"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
output=$work/output
failures=0
# The other machine has no folder of this run.
cd / || exit 1
export ACP_NET=ib ACP_TEST_SCALE=${ACP_TEST_SCALE:-0.002}

fail() { # text
  echo "FAILED: $1"
  tail -n 30 "$output"
  failures=$((failures + 1))
}

# Prints the processes or names of memory that a job has left in this machine.
left() {
  pgrep -lf "$bin/|$tests/"
  ls /dev/shm
}
# shellcheck disable=SC2317 # eventually calls it
nothing_is_left() { test -z "$(left)"; }

# job RANKS PROGRAM [CASE...]: ranks 0 and 1 are on different machines.
# With `full` all cases run.
job() {
  local ranks=$1 program=$2 begin=$SECONDS status=0 half=$(($1 / 2))
  shift 2
  test -z "$full" || set --
  "$bin/acprun" -np "$ranks" --host "10.77.0.1:$half,10.77.0.2:$half" \
    "$tests/$program" "$@" >"$output" 2>&1 || status=$?
  echo "$ranks ranks, ${program##*/}, atomics by ${ACP_VERBS_ATOMICS:-agent}:" \
    "status $status, $(grep -c '^ok ' "$output") cases, $((SECONDS - begin)) s"
  test $status = 0 || fail "a job over two machines"
  eventually nothing_is_left || fail "the job has left $(left)"
}

job 2 rdma-vm/rdma_machines acp_rank_and_procs acp_sync_shows_stores \
  acp_reset_clears acp_copy_registered_registered acp_copy_all_pairs \
  atomics_on_library_memory acp_create_ch_matches_in_order acp_map_values_do_not_move
# Copies between a rank of the one machine and a neighbour on the other one.
job 4 rdma-vm/rdma_machines acp_reset_permutations acp_copy_library_registered \
  acp_copy_all_pairs atomics_bad_dst acp_create_ch_all_to_all \
  acpx_upsert_add8_map_contention
ACP_VERBS_ATOMICS=device job 2 rdma-vm/rdma_machines \
  atomics_on_registered_memory
# All ranks have a device on one fabric, so the library takes them by itself.
ACP_NET=auto ACP_LOG=info job 4 qmp/qmp_message qmp_start_all_to_all \
  qmp_start_order
grep -q "ACP_NET=auto: ib between hosts" "$output" ||
  fail "ACP_NET=auto took no RDMA devices"

# ---- acp_info --job: the network between the machines, and the device of each
ACP_NET=auto "$bin/acprun" -np 4 --host 10.77.0.1:2,10.77.0.2:2 "$bin/acp_info" --job \
  >"$output" 2>&1 || fail "acp_info --job over two machines"
for machine in 1 2; do
  grep -qE "^rdma-vm$machine +$((2 * machine - 2))-$((2 * machine - 1)) +0: rxe0 port 1, eth0 at 10\.77\.0\.$machine\$" \
    "$output" || fail "acp_info --job does not tell the device of machine $machine"
done
grep -qE "^network +verbs \(ACP_NET=auto: ib between hosts " "$output" ||
  fail "acp_info --job does not tell that the machines use RDMA"
grep -qE "^atomics +inside a host by CPUs, between hosts by the owner's agent " \
  "$output" || fail "acp_info --job does not tell who executes atomics"

# ---- One of the machines is gone at once, without a word
mkfifo "$work/order"
# The shell there has begun to read before the job starts, so nothing but the
# end of the machine lies between the order and the loss.
ssh 10.77.0.2 'echo ready && read -r _ && echo b >/proc/sysrq-trigger' \
  <"$work/order" >"$work/ready" 2>&1 &
remote=$!
exec 3>"$work/order"
eventually grep -q ready "$work/ready" || fail "no shell in the second machine"
"$bin/acprun" -np 4 --host 10.77.0.1:2,10.77.0.2:2 --acp-startermemsize=1M \
  "$tests/hosts/steady" 60 >"$output" 2>&1 &
job=$!
eventually grep -q "first round" "$output" || fail "the job did not begin"
begin=$(date +%s%N)
echo now >&3
status=0
wait $job || status=$?
took=$((($(date +%s%N) - begin) / 1000000))
echo "the second machine is lost: status $status, $took ms:"
grep '^acprun: ' "$output"
test $status != 0 || fail "the job ended well without the second machine"
test $took -le 15000 || fail "the job ended after $took ms"
# Either acprun misses the daemon there, or a rank of this machine misses a rank there.
grep -E '^acprun: .*(ranks 2-3|rank [23] is lost)' "$output" |
  grep -q '10\.77\.0\.2' || fail "acprun does not name the machine with its ranks"
eventually nothing_is_left || fail "the job has left $(left)"
kill $remote
exit $((failures > 0))
