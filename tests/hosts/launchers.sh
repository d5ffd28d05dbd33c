#!/bin/sh
# Jobs on two hosts under the launcher of an MPI library, with in-host as its
# remote shell: the ranks meet by PMI-1 of MPICH, or by PMIx of Open MPI. Also how
# jobs end: by a rank's status or death, by unlike calls, and when a host is cut off.
#
#   with-hosts -n 2 -- launchers.sh MPI HELLO VICTIM PROGRAM...
#                                                          MPI: openmpi, mpich
set -eu
# shellcheck source=tests/hosts/eventually.sh
. "$HOST_TOOLS/eventually.sh"
mpi=$1 hello=$2 victim=$3
shift 3
output=$TMPDIR/output
# ACP_BOOTSTRAP refuses every other interface.
case $mpi in
openmpi)
  launcher=mpirun.openmpi interface=pmix
  options="--mca plm_rsh_agent $HOST_TOOLS/in-host --mca oob_tcp_if_include eth0
    -x ACP_LOG -x ACP_TEST_SCALE -x ACP_BOOTSTRAP --host 10.88.0.1:8,10.88.0.2:8"
  ;;
mpich)
  launcher=mpiexec.hydra interface=pmi1
  options="-launcher rsh -launcher-exec $HOST_TOOLS/in-host -iface eth0
    -hosts 10.88.0.1,10.88.0.2"
  ;;
esac
command -v "$launcher" >/dev/null ||
  { echo "skipped: $launcher is not installed" && exit 77; }
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
ACP_TEST_SCALE=$(awk "BEGIN { print ${ACP_TEST_SCALE:-0.1} / 10 }")
export ACP_TEST_SCALE ACP_LOG=info ACP_BOOTSTRAP="$interface"

fail() { # text
  echo "FAILED: $1"
  cat "$output"
  exit 1
}

start() { # ranks, program, argument...
  ranks=$1
  shift
  case $mpi in
  openmpi) share="--map-by ppr:$((ranks / 2)):node" ;;
  mpich) share="-ppn $((ranks / 2))" ;;
  esac
  status=0
  # shellcheck disable=SC2086,SC2016 # the options are words; for the inner shell
  timeout 60 ip netns exec h1 unshare --uts sh -c 'hostname h1 && exec "$@"' job \
    $launcher $options $share -n "$ranks" "$@" >"$output" 2>&1 || status=$?
}

ranks_left() {
  for host in h1 h2; do
    for process in $(ip netns pids $host); do
      ! grep -qx victim "/proc/$process/comm" 2>/dev/null || echo "$process"
    done
  done
}
no_rank_is_left() { test -z "$(ranks_left)"; }

run_job() { # program, ranks
  start "$2" "$1"
  test $status = 0 || fail "$1 with $2 ranks: status $status"
}

echo "-- the ranks of two hosts meet over $interface"
run_job "$hello" 4
for rank in 0 1 2 3; do
  grep -q "^acp: rank $rank on h$((rank / 2 + 1)): .* 4 ranks, ACP_NET=auto" \
    "$output" || fail "rank $rank is not on its host, or not in the job"
  grep -q "^rank $rank got: hello from rank $(((rank + 3) % 4))$" "$output" ||
    fail "rank $rank has got another text"
done

echo "-- 16 ranks, eight on a host"
run_job "$hello" 16
test "$(grep -c "^rank [0-9]* got: hello from rank" "$output")" = 16 ||
  fail "not every rank has got its text"

for program; do
  echo "-- $program"
  run_job "$program" 4
done

echo "-- the status of the ranks is the launcher's"
# shellcheck disable=SC2016 # for the ranks' shell
start 4 sh -c '"$0" && exit 3' "$hello"
test $status = 3 || fail "ranks that end with 3: status $status"

echo "-- the death of a rank on the other host ends the job"
for death in before_others:exit in_sync:kill in_copy:exit in_wait:segv in_reset:kill \
  in_finalize:kill in_sync:abort; do
  start 2 "$victim" "${death%:*}" "${death#*:}" "$TMPDIR/death"
  test $status != 0 || fail "$death: the job ended well"
  eventually no_rank_is_left || fail "$death: ranks are left"
  # The victim writes the file when it dies.
  took=$(($(date +%s) - $(stat -c %Y "$TMPDIR/death")))
  test $took -le 10 || fail "$death: the job ended $took s after it"
done

echo "-- ranks of two hosts in unlike calls end, and name one"
# Status 0: the calls have failed, and the ranks have left in order. 125: a leader
# has ended the job.
unlike() { # ranks, moment, how, statuses, a part of some line
  start "$1" "$victim" "$2" "$3" -
  case " $4 " in
  *" $status "*) ;;
  *) fail "$2 $3 with $1 ranks: status $status instead of $4" ;;
  esac
  grep -q "$5" "$output" || fail "$2 $3 with $1 ranks: no line names a rank"
}
reset="acp_reset.*rank [0-3] is in acp_\|rank [0-3] called .* waits in acp_reset"
unlike 2 unlike sync:finalize 0 "rank 0 is in acp_finalize after"
unlike 4 unlike finalize:reset 0 "$reset"
unlike 2 unlike reset:sync "0 125" "$reset\|rank 1 is in acp_reset"
unlike 4 reset_beside sync_on "0 125" "$reset"

echo "-- a host that is cut off ends the ranks of both, and is named"
: >"$TMPDIR/ranks"
both_are_there() { test "$(wc -l <"$TMPDIR/ranks")" = 2; }
# The ranks send nothing: only the lifeline between the hosts can tell.
start 2 "$victim" in_wait stay "$TMPDIR/ranks" &
eventually both_are_there || fail "the job did not begin"
begin=$(date +%s)
ip link set v2 down
eventually no_rank_is_left || fail "ranks of hosts that are cut off go on"
took=$(($(date +%s) - begin))
test $took -le 17 || fail "the ranks ended after $took s" # 15, or a busy machine
# Hydra and Open MPI may wait for their process on the other host.
ip link set v2 up
wait
grep -q "rank 0 on h1: error: the host of rank 1 at 10.88.0.2 has lost a rank, or is gone: the job ends" \
  "$output" || fail "the host is not named"
