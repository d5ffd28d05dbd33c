#!/bin/bash
# Tests jobs over three hosts, of which the third has no RDMA device: with
# ACP_NET=auto the first two use their devices, and both reach the third one by
# UDP. Runs only in the virtual machine of tests/rdma-vm/run: the hosts are names
# for it, and the remote shell gives each a host name and a view of the devices.
#
#   unlike-hosts.sh BUILD   the folder of a build
set -u
here=$(cd "$(dirname "$0")" && pwd)
case ${1:-} in
--rsh) # HOST WORD...: as ssh does
  host=$2
  shift 2
  # shellcheck disable=SC2016 # the inner shell expands these
  exec unshare --uts --mount sh -c 'hostname "$0"
    test "$0" != c || mount -t tmpfs none /sys/class/infiniband
    exec sh -c "exec $*"' "$host" "$@"
  ;;
--rank) # PROGRAM [ARGUMENT...]: the first two hosts have a device each
  shift
  case $(hostname) in
  a) export ACP_VERBS_DEVICES=rxe0 ;;
  b) export ACP_VERBS_DEVICES=rxe1 ;;
  esac
  exec "$@"
  ;;
esac

bin=$1/bin tests=$1/tests
if test -z "${ACP_RDMA_VM:-}"; then
  echo "only in the machine of tests/rdma-vm/run"
  exit 77
fi
unset ACP_SHM ACP_VERBS_ATOMICS
export ACP_NET=auto ACP_LOG=info ACP_TEST_SCALE=${ACP_TEST_SCALE:-0.002}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
output=$work/output
failures=0

fail() { # text
  echo "FAILED: $1"
  tail -n 30 "$output"
  failures=$((failures + 1))
}

# start HOSTS OPTION... PROGRAM [ARGUMENT...]: HOSTS is for --host, and its ranks
# are counted.
start() {
  local hosts=$1
  shift
  "$bin/acprun" -np "$(echo "$hosts" | tr , "\n" | awk -F: '{ n += $2 } END { print n }')" \
    --host "$hosts" --rsh "$work/rsh" --wrap "$here/unlike-hosts.sh --rank" "$@"
}
printf '#!/bin/sh\nexec %s --rsh "$@"\n' "$here/unlike-hosts.sh" >"$work/rsh"
chmod +x "$work/rsh"

# job HOSTS PROGRAM CASE...
job() {
  local hosts=$1 program=$2 begin=$SECONDS status=0
  shift 2
  start "$hosts" "$tests/$program" "$@" >"$output" 2>&1 || status=$?
  echo "${program##*/} on $hosts: status $status," \
    "$(grep -c '^ok ' "$output") cases, $((SECONDS - begin)) s"
  test $status = 0 || fail "a job over unlike hosts"
}

# says COUNT TEXT: so many ranks have said it.
says() {
  test "$(grep -c "$2" "$output")" = "$1" || fail "not $1 times: $2"
}

# Ranks sleep, since those of each host take the machine's cores for their own.
export ACP_WAIT=sleep
job a:1,b:1,c:1 rdma-vm/rdma_conformance acp_rank_and_procs acp_copy_all_pairs \
  acp_reset_permutations acpx_put_signal_between_others
says 2 "ACP_NET=auto: ib to the hosts on the fabric of this rank"
says 1 "ACP_NET=auto: udp to all hosts: this rank has no RDMA device"
job a:1,b:1,c:1 conformance/gma_order cont_data_then_flag put_then_get
job a:1,b:1,c:1 conformance/channel acp_create_ch_all_to_all
job a:1,b:1,c:1 conformance/map acp_map_contention
job a:1,b:1,c:1 multiproc/contention add8 cas8

# Devices do not execute the atomics of such a job.
export ACP_VERBS_ATOMICS=device
start a:1,b:1,c:1 "$bin/acp_info" --job >"$output" 2>&1 ||
  fail "a job whose devices were to execute atomics"
unset ACP_VERBS_ATOMICS
says 1 "network .*verbs and udp (.*agents execute atomics) (ranks 0-1)"
says 1 "network .*udp (.*no RDMA device.*) (ranks 2)"
says 2 "atomics .*between hosts by the owner's agent"
says 1 "atomics .*agent (the job has two networks) (ranks 0-1)"

exit $((failures > 0))
