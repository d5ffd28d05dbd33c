#!/bin/sh
# Stops one process of a job, and looks how the job ends. Jobs wait for the limits of
# silence side by side:
#   - a rank is stopped that no network speaks to, on the first host and on the other
#     one, under acprun, mpiexec and mpirun, and in jobs on one host. The others wait in
#     acp_sync, and one of them names it
#   - acprun is stopped. Its own host ends as the other one does, and acprun blames
#     no other host when it runs again
#   - acprun is stopped with all ranks, as by ^Z, for longer than every limit. The job
#     goes on
#
#   with-hosts -n 2 -- stopped.sh ACPRUN STEADY TALK [LAUNCHER...]
#                                          LAUNCHER: mpiexec.hydra, mpirun.openmpi
set -eu
# shellcheck source=tests/hosts/eventually.sh
. "$HOST_TOOLS/eventually.sh"
acprun=$1 steady=$2 talk=$3
shift 3
launchers=" $* "
output=$TMPDIR/none
: >"$output"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# The jobs shall leave each other the processors while they wait.
export ACP_WAIT=sleep

on_h1() { # word...
  # shellcheck disable=SC2016 # for the inner shell
  ip netns exec h1 unshare --uts sh -c 'hostname h1 && exec "$@"' job "$@"
}

# Starts a job and remembers its process as $last.
start() { # name, word...
  name=$1
  shift
  : >"$TMPDIR/$name"
  "$@" >"$TMPDIR/$name" 2>&1 &
  last=$!
}

# --- jobs of which a rank stops -------------------------------------------------------

lost=''
# A job of talk in which this rank stops. $lost has "name:process:rank:host" of each. The
# ranks write their errors into a file: Hydra drops what it has not read when it ends a job.
stop_rank() { # name, rank, host, word...
  stopped_name=$1 rank=$2 host=$3
  shift 3
  start "$stopped_name" "$@" sh -c "exec '$talk' stop_sync 0 $rank 2>>$TMPDIR/errors.$stopped_name"
  lost="$lost $stopped_name:$last:$rank:$host"
}
has() { # launcher
  case $launchers in *" $1 "*) command -v "$1" >/dev/null && return ;; esac
  echo "without $1"
  return 1
}

stop_rank acprun.1 1 h1 "$HOST_TOOLS/job" "$acprun"
stop_rank acprun.3 3 h2 "$HOST_TOOLS/job" "$acprun"
stop_rank acprun.alone 1 h1 on_h1 "$acprun" -np 2
if has mpiexec.hydra; then
  stop_rank mpiexec.3 3 h2 on_h1 mpiexec.hydra -launcher rsh \
    -launcher-exec "$HOST_TOOLS/in-host" -iface eth0 -hosts 10.88.0.1,10.88.0.2 \
    -ppn 2 -n 4
  # The leader of the host.
  stop_rank mpiexec.alone 0 h1 on_h1 mpiexec.hydra -n 2
fi
if has mpirun.openmpi; then
  stop_rank mpirun.3 3 h2 on_h1 mpirun.openmpi --mca plm_rsh_agent "$HOST_TOOLS/in-host" \
    --mca oob_tcp_if_include eth0 -x ACP_WAIT --host 10.88.0.1:8,10.88.0.2:8 --map-by ppr:2:node -n 4
fi

# --- jobs of which acprun stops --------------------------------------------------------

is_stopped() { grep -q '^State:.*T' "/proc/$1/status"; }
begins() { grep -q 'first round' "$TMPDIR/$1"; }
wait_in_finalize() { test "$(grep -c 'calls acp_finalize' "$output")" = 3; }
# Whether a rank of the job of steady with this number of seconds runs.
runs() { # seconds
  for pid in $(ip netns pids h1) $(ip netns pids h2); do
    ! tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline" | grep -q "^$steady $1 " || return 0
  done
  return 1
}
runs_no_more() { ! runs "$1"; }

# Rank 3 stays out of acp_finalize, so the others wait for acprun.
start acprun.stopped "$HOST_TOOLS/job" "$acprun" --acp-startermemsize=1M "$steady" \
  0 finalize 3
stopped=$last
output=$TMPDIR/acprun.stopped
eventually wait_in_finalize || fail "no rank has come to acp_finalize"
kill -STOP "$stopped"
begin=$(now_ms)
start acprun.paused "$HOST_TOOLS/job" "$acprun" --acp-startermemsize=1M "$steady" 1
paused=$last
output=$TMPDIR/acprun.paused
eventually begins acprun.paused || fail "no first round of the job that is paused"
kill -TSTP "$paused"
eventually is_stopped "$paused" || fail "acprun did not stop itself"
pause_begin=$(now_ms)

output=$TMPDIR/acprun.stopped
eventually runs_no_more 0 || fail "ranks go on beside an acprun that is stopped"
echo "acprun.stopped: no rank was left after $(($(now_ms) - begin)) ms"
is_stopped "$stopped" || fail "acprun was not stopped meanwhile"
kill -CONT "$stopped"
status=0
wait "$stopped" || status=$?
output=$TMPDIR/acprun.stopped
test $status = 125 || fail "the status of the acprun that was stopped is $status"
grep -q '^acprun: acprun itself (pid [0-9]* on h1) was stopped, or hung, for [0-9]* s' \
  "$output" || fail "acprun does not say that it was stopped"
! grep '^acprun: ' "$output" | grep -q 'h2\|10\.88\.0\.2\|is lost' ||
  fail "acprun blames another host"
grep -q 'the keeper has heard nothing from its acprun (pid [0-9]*) for 12 s' "$output" ||
  fail "the keeper says nothing"

# --- their ends ---------------------------------------------------------------------

for job in $lost; do
  IFS=: read -r name process rank host <<LINE
$job
LINE
  output=$TMPDIR/$name
  status=0
  wait "$process" || status=$?
  cat "$TMPDIR/errors.$name" >>"$output"
  test $status != 0 || fail "$name: the job ended well"
  grep -q "on $host: error: rank $rank is lost: its process (pid [0-9]* on $host) has shown no sign of life for 1[0-3]\.[0-9] s, and a signal has stopped it (state T)" \
    "$output" || fail "$name: rank $rank on $host is not named"
  test "$(grep -c 'error: rank [0-9]* is lost: ' "$output")" = 1 ||
    fail "$name: more than one rank names it"
  echo "$name: status $status: $(grep -m1 'error: rank .* is lost: ' "$output" | cut -c 1-100)..."
done

# At least 3 s more than every limit.
until test $(($(now_ms) - pause_begin)) -gt 15000; do
  sleep 0.2 # the pause itself
done
output=$TMPDIR/acprun.paused
kill -CONT "$paused"
status=0
wait "$paused" || status=$?
test $status = 0 || fail "the job that was paused ended with status $status"
grep -q "rounds were exact" "$output" || fail "the job that was paused said nothing"
! grep -q "lost\|heard" "$output" || fail "the pause was taken for a death"

none_left() {
  for pid in $(ip netns pids h1) $(ip netns pids h2); do
    ! grep -qx 'talk\|steady\|acprun' "/proc/$pid/comm" 2>/dev/null || return 1
  done
}
eventually none_left || fail "processes are left"
