#!/bin/sh
# Jobs on two hosts under the launcher of an MPI library, with in-host as its
# remote shell: the ranks meet by PMI-1 of MPICH, or by PMIx of Open MPI. Also how
# jobs end, and what they name: a rank's status or death, unlike calls, a host that is
# disconnected.
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
  # mpirun takes 3.5 s by itself, whatever the program (docs/clusters.md).
  launcher=mpirun.openmpi interface=pmix launcher_limit_ms=5000
  options="--mca plm_rsh_agent $HOST_TOOLS/in-host --mca oob_tcp_if_include eth0
    -x ACP_LOG -x ACP_TEST_SCALE -x ACP_BOOTSTRAP -x ACP_INIT_TIMEOUT --host 10.88.0.1:8,10.88.0.2:8"
  ;;
mpich)
  launcher=mpiexec.hydra interface=pmi1 launcher_limit_ms=2000
  options="-launcher rsh -launcher-exec $HOST_TOOLS/in-host -iface eth0
    -hosts 10.88.0.1,10.88.0.2"
  ;;
esac
command -v "$launcher" >/dev/null ||
  { echo "skipped: $launcher is not installed" && exit 77; }
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
ACP_TEST_SCALE=$(awk "BEGIN { print ${ACP_TEST_SCALE:-0.1} / 10 }")
export ACP_TEST_SCALE ACP_LOG=info ACP_BOOTSTRAP="$interface" ACP_INIT_TIMEOUT=60

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
  timeout -k 5 60 ip netns exec h1 unshare --uts sh -c 'hostname h1 && exec "$@"' job \
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

# PMIx 4.2 keeps a lock when a rank dies while it connects to mpirun's daemon on its
# host. That daemon and mpirun then wait without end (docs/clusters.md). Ends the two
# if that is so.
end_locked_daemons() {
  grep -q "UNREACHABLE in file .*ptl_base_connection_hdlr.c" "$output" || return
  for process in $(ip netns pids h1) $(ip netns pids h2); do
    ! grep -qx 'orted\|mpirun.openmpi' "/proc/$process/comm" ||
      kill -KILL "$process" || true
  done
}

# Whether a line names the host and the rank of a death. With 2 ranks the victim, rank 1,
# is alone on h2. With 4 ranks it is on h1, beside rank 0.
names_the_dead() { # ranks, how
  process=$(cut -d' ' -f2 "$TMPDIR/death")
  case $1 in
  2)
    host=2
    line="rank 0 on h1: error: .*the host of rank 1 at 10\.88\.0\.2 has lost a rank, or is gone"
    other=$line
    ;;
  4)
    host=1
    line="rank 0 on h1: error: .*rank 1 (pid $process) of this host has ended without acp_finalize"
    other="rank [23] on h2: error: .*the host of rank 0 at 10\.88\.0\.1 has lost a rank, or is gone"
    ;;
  esac
  if test "$2" = abort; then
    grep -q "^acp: rank 1 on h$host: acp_abort: the victim gives up" "$output"
    return
  fi
  ! grep -q "^acp: $line" "$output" || return 0
  # Hydra kills the ranks as soon as it has seen the death, so rank 0 may write nothing.
  # Then a rank of the other host names the host of the death, or Hydra's report does,
  # with the process.
  test "$mpi" = mpich || return
  grep -q "^acp: $other\|PID $process RUNNING AT 10\.88\.0\.$host\$" "$output"
}

# A rank dies. All others end soon, and then the launcher itself. No line has to name a
# rank that dies before the end of its acp_init: the other ranks do not know its process
# yet, and the launcher may end them without a word. The same is true of a rank whose
# peers are still in acp_init, so at the other moments all ranks have left it ("met").
ends_in_time() { # ranks, moment, how
  what="$2 $3 with $1 ranks"
  rm -f "$TMPDIR/death" "$TMPDIR/status"
  test "$init_ms" != 0 && met= || met=met
  (start "$1" "$victim" "$2" "$3" "$TMPDIR/death" $met && echo "$status" >"$TMPDIR/status") &
  # The victim writes the file when it dies.
  eventually test -s "$TMPDIR/death" || fail "$what: no rank has died"
  died=$(stat -c %.3Y "$TMPDIR/death" | tr -d .,)
  eventually no_rank_is_left || fail "$what: ranks are left"
  ranks_took=$(($(now_ms) - died))
  test $ranks_took -le $((2000 + init_ms)) || fail "$what: the ranks took too long"
  if ! eventually test -s "$TMPDIR/status" && test "$init_ms" != 0 && end_locked_daemons; then
    echo "$what: the ranks ended after $ranks_took ms, and PMIx has kept its lock"
    wait
    return
  fi
  wait
  took=$(($(now_ms) - died))
  echo "$what: the ranks ended after $ranks_took ms, $launcher after $took ms"
  test "$(cat "$TMPDIR/status")" != 0 || fail "$what: the job ended well"
  test $took -le $((launcher_limit_ms + init_ms)) ||
    fail "$what: $launcher took too long"
  test "$init_ms" != 0 || names_the_dead "$1" "$3" ||
    fail "$what: no line names the host and the rank"
}

echo "-- the death of a rank on the other host ends the job"
for death in before_others:exit in_sync:kill in_copy:exit in_wait:segv in_reset:kill \
  in_finalize:kill in_sync:abort; do
  # A launcher need not tell a rank in acp_init that its peer never comes there. Then
  # this limit ends the rank.
  case $death in
  before_*) ACP_INIT_TIMEOUT=5 init_ms=5000 ;;
  *) ACP_INIT_TIMEOUT=60 init_ms=0 ;;
  esac
  ends_in_time 2 "${death%:*}" "${death#*:}"
done

echo "-- the death of a rank in acp_finalize, where all others wait, ends the job"
for how in kill exit exit0; do
  ends_in_time 2 in_fini $how
  ends_in_time 4 in_fini $how
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

# A host is disconnected from a job of two ranks, which send nothing: only the lifeline
# between the hosts can tell.
disconnect() { # moment, how, lines that the ranks write
  : >"$TMPDIR/ranks"
  start 2 "$victim" "$1" "$2" "$TMPDIR/ranks" &
  lines=$3
  eventually have_come || fail "$1: the job did not begin"
  begin=$(now_ms)
  ip link set v2 down
  eventually no_rank_is_left || fail "$1: ranks of disconnected hosts go on"
  took=$(($(now_ms) - begin))
  echo "$1: $took ms"
  test $took -le 15000 || fail "$1: the ranks ended after $took ms"
  # Hydra and Open MPI may wait for their process on the other host.
  ip link set v2 up
  wait
  grep -q "rank 0 on h1: error: the host of rank 1 at 10.88.0.2 has lost a rank, or is gone: the job ends" \
    "$output" || fail "$1: the host is not named"
}
have_come() { test "$(wc -l <"$TMPDIR/ranks")" = "$lines"; }

echo "-- a disconnected host ends the ranks of both, and is named"
disconnect in_wait stay 2
disconnect in_fini wait 1
