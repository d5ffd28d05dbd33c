#!/bin/sh
# Tests jobs over three hosts, of which the third has no RDMA device: with
# ACP_NET=auto the first two use their devices, and both reach the third one by
# UDP. Runs only in the virtual machine of tests/rdma-vm/run: the hosts are names
# for it, and the remote shell gives each a host name and a view of the devices.
#
#   unlike-hosts.sh BUILD [full]   the folder of a build; full: more programs, and
#                                  acp_info, instead of one job of a few cases
set -u
# These two branches start no program where the shell can do it: in an emulated machine
# each program takes as long as a third of a job.
case ${1:-} in
--rsh) # HOST WORD...: as ssh does
  host=$2
  shift 2
  # shellcheck disable=SC2016 # the inner shell expands these
  exec unshare --uts --mount sh -c 'echo "$0" >/proc/sys/kernel/hostname
    test "$0" != c || mount -t tmpfs none /sys/class/infiniband
    eval "exec $*"' "$host" "$@"
  ;;
--rank) # PROGRAM [ARGUMENT...]: the first two hosts have a device each
  shift
  read -r host </proc/sys/kernel/hostname
  case $host in
  a) export ACP_VERBS_DEVICES=rxe0 ;;
  b) export ACP_VERBS_DEVICES=rxe1 ;;
  esac
  exec "$@"
  ;;
esac

here=$(cd "$(dirname "$0")" && pwd)
bin=$1/bin tests=$1/tests full=${2:-}
if test -z "${ACP_RDMA_VM:-}"; then
  echo "only in the machine of tests/rdma-vm/run"
  exit 77
fi
unset ACP_SHM ACP_VERBS_ATOMICS
export ACP_NET=auto ACP_LOG=info ACP_TEST_SCALE="${ACP_TEST_SCALE:-0.002}"
# Ranks sleep, since those of each host take the machine's cores for their own.
export ACP_WAIT=sleep
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
output=$work/output
failures=0

fail() { # text
  echo "FAILED: $1"
  tail -n 30 "$output"
  failures=$((failures + 1))
}

# start PROGRAM [ARGUMENT...]: a rank on each host
start() {
  "$bin/acprun" -np 3 --host a:1,b:1,c:1 --rsh "$here/unlike-hosts.sh --rsh" \
    --wrap "$here/unlike-hosts.sh --rank" "$@" >"$output" 2>&1
}

# job PROGRAM CASE...
job() {
  program=$1 status=0
  shift
  start "$tests/$program" "$@" || status=$?
  echo "${program##*/}: status $status"
  grep '^ok ' "$output"
  test $status = 0 || fail "a job over unlike hosts"
  test "$(grep -c '^ok ' "$output")" = $# || fail "$# cases were to run"
}

# says COUNT TEXT: so many ranks have said it.
says() {
  test "$(grep -c "$2" "$output")" = "$1" || fail "not $1 times: $2"
}

job rdma-vm/rdma_conformance acp_rank_and_procs acp_copy_all_pairs acp_reset_completes \
  atomics_in_a_chain_of_orders acpx_put_signal_between_others acp_create_ch_all_to_all
says 2 "ACP_NET=auto: ib to the hosts on the fabric of this rank"
says 1 "ACP_NET=auto: udp to all hosts: this rank has no RDMA device"
test -n "$full" || exit $((failures > 0))

job rdma-vm/rdma_conformance acp_reset_permutations
job conformance/gma_order cont_data_then_flag put_then_get
job conformance/map acp_map_contention
job multiproc/contention add8 cas8

# Devices do not execute the atomics of such a job.
(export ACP_VERBS_ATOMICS=device && start "$bin/acp_info" --job) ||
  fail "a job whose devices were to execute atomics"
says 1 "network .*verbs and udp (.*agents execute atomics) (ranks 0-1)"
says 1 "network .*udp (.*no RDMA device.*) (ranks 2)"
says 2 "atomics .*between hosts by the owner's agent"
says 1 "atomics .*agent (the job has two networks) (ranks 0-1)"

exit $((failures > 0))
