#!/bin/sh
# Stops a rank of a job that no network speaks to, and looks how the job ends. The rank
# is on the first host or on the other one, under acprun, mpiexec and mpirun, or in a
# job on one host. The others wait in acp_sync, and one of them names it. The jobs wait
# for the limit side by side.
#
#   with-hosts -n 2 -- stopped.sh ACPRUN TALK [LAUNCHER...]
#                                   LAUNCHER: mpiexec.hydra, mpirun.openmpi
set -eu
# shellcheck source=tests/hosts/eventually.sh
. "$HOST_TOOLS/eventually.sh"
acprun=$1 talk=$2
shift 2
launchers=" $* "
output=$TMPDIR/none
: >"$output"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

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
# A job of talk in which this rank stops. $lost has "name:process:rank:host" of each.
stop_rank() { # name, rank, host, word...
  stopped_name=$1 rank=$2 host=$3
  shift 3
  start "$stopped_name" "$@" "$talk" stop_sync 0 "$rank"
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
    --mca oob_tcp_if_include eth0 --host 10.88.0.1:8,10.88.0.2:8 --map-by ppr:2:node -n 4
fi

# --- their ends ---------------------------------------------------------------------

for job in $lost; do
  IFS=: read -r name process rank host <<LINE
$job
LINE
  output=$TMPDIR/$name
  status=0
  wait "$process" || status=$?
  test $status != 0 || fail "$name: the job ended well"
  grep -q "on $host: error: rank $rank is lost: its process (pid [0-9]* on $host) has shown no sign of life for 1[0-3]\.[0-9] s, and a signal has stopped it (state T)" \
    "$output" || fail "$name: rank $rank on $host is not named"
  test "$(grep -c 'error: rank [0-9]* is lost: ' "$output")" = 1 ||
    fail "$name: more than one rank names it"
  echo "$name: status $status: $(grep -m1 'is lost: ' "$output" | cut -c 1-100)..."
done

none_left() {
  for pid in $(ip netns pids h1) $(ip netns pids h2); do
    ! grep -qx 'talk\|acprun' "/proc/$pid/comm" 2>/dev/null || return 1
  done
}
eventually none_left || fail "processes are left"
