#!/bin/sh
# A job on two hosts, whose datagrams are authenticated. No key is in the memory
# that a core dump of one of its processes has, nor in the core dumps themselves.
#
#   with-hosts -n 2 -- secrets.sh LAUNCHER STEADY CORE_KEYS
#                                     LAUNCHER: acprun's file, openmpi or mpich
#
# Core dumps of the kernel are written where the kernel's core_pattern is the name of a file in
# the folder of the process. Elsewhere the memory alone is searched.
set -eu
# shellcheck source=tests/hosts/eventually.sh
. "$HOST_TOOLS/eventually.sh"
launcher=$1 steady=$2 core_keys=$3
output=$TMPDIR/output
mkdir "$TMPDIR/cores"
cd "$TMPDIR/cores"
# shellcheck disable=SC3045 # dash has it
ulimit -c unlimited
export ACP_STARTER_MEMORY=1M ACP_WAIT=sleep ACP_INIT_TIMEOUT=60
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

in_h1() { # command...
  # shellcheck disable=SC2016 # for the inner shell
  exec ip netns exec h1 unshare --uts sh -c 'hostname h1 && exec "$@"' job "$@"
}

case $launcher in
openmpi)
  command -v mpirun.openmpi >/dev/null || { echo "skipped: no Open MPI" && exit 77; }
  in_h1 mpirun.openmpi --mca plm_rsh_agent "$HOST_TOOLS/in-host" \
    --mca oob_tcp_if_include eth0 -x ACP_INIT_TIMEOUT -x ACP_STARTER_MEMORY \
    -x ACP_WAIT --map-by ppr:2:node --host 10.88.0.1:8,10.88.0.2:8 -n 4 \
    "$steady" 1 finalize 3 >"$output" 2>&1 &
  ;;
mpich)
  command -v mpiexec.hydra >/dev/null || { echo "skipped: no MPICH" && exit 77; }
  in_h1 mpiexec.hydra -launcher rsh -launcher-exec "$HOST_TOOLS/in-host" \
    -iface eth0 -hosts 10.88.0.1,10.88.0.2 -ppn 2 -n 4 "$steady" 1 finalize 3 \
    >"$output" 2>&1 &
  ;;
*)
  "$HOST_TOOLS/job" "$launcher" "$steady" 1 finalize 3 >"$output" 2>&1 &
  ;;
esac
# After a second of work, three ranks wait in acp_finalize for the last one. A rank
# that seals a packet while it is searched would have a part of a key in its registers.
is_waiting() {
  test "$(grep -c "^rank [0-3] calls acp_finalize\|^rank 3 stays out" "$output")" = 4
}
eventually is_waiting || fail "the ranks do not wait"

# The daemon on h2 comes before acprun on h1, whose death would kill it.
named() { # pattern of /proc/PID/comm
  for host in h2 h1; do
    for process in $(ip netns pids $host); do
      ! grep -qx "$1" "/proc/$process/comm" 2>/dev/null || echo "$process"
    done
  done
}
ranks=$(named steady)
keepers=$(named acprun-keeper)
case $launcher in
openmpi) others=$(named 'mpirun.*\|orted\|prte.*') ours= ;;
mpich) others=$(named 'mpiexec.hydra\|hydra_pmi_proxy\|hydra.*') ours= ;;
*)
  ours="$keepers $(named acprun)"
  others=$ours
  # Two keepers, acprun, and the daemon of the other host.
  test "$(echo "$ours" | wc -w)" = 4 || fail "processes of acprun: $ours"
  ;;
esac
test "$(echo "$ranks" | wc -w)" = 4 || fail "ranks: $ranks"
first=${ranks%%[!0-9]*}
are_asleep() {
  for process in $ranks; do
    ! grep -l '^State:.*R' "/proc/$process/task/"*/status >"$TMPDIR/running" || return 1
  done
}
eventually are_asleep || fail "the ranks do not sleep"

# shellcheck disable=SC2086 # the processes are words
"$core_keys" memory "$first" "$TMPDIR/secret" $ranks $ours ||
  fail "a core dump would have a key"

case $(cat /proc/sys/kernel/core_pattern) in
\|* | */*)
  echo "no core dumps: the kernel gives them to another program"
  exit 0
  ;;
esac

# No process may end another one while core dumps are written, so those that watch
# the ranks are stopped, and end last.
# shellcheck disable=SC2086 # the processes are words
kill -STOP $others $ranks
has_core() { test -n "$(find . -maxdepth 1 -name 'core*' -size +0)"; }
is_gone() {
  ! kill -0 "$1" 2>/dev/null || grep -q '^State:.*Z' "/proc/$1/status" 2>/dev/null
}
crash() { # process
  status=0
  "$core_keys" crash "$1" || status=$?
  test $status != 77 || exit 0
  test $status = 0 || fail "process $1 could not be crashed"
  kill -CONT "$1" 2>/dev/null || true
  eventually is_gone "$1" || fail "process $1 lives on"
  has_core || fail "process $1 has left no core dump"
  mkdir -p dumps
  mv core* "dumps/$1"
}
for process in $ranks $ours; do
  crash "$process"
done
"$core_keys" files "$TMPDIR/secret" dumps/* || fail "a core dump has a key"
