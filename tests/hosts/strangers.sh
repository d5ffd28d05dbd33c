#!/bin/sh
# A stranger makes thousands of silent connections to rank 0, which waits for the
# leader of another host. The program of rank 0 still opens files, the leader gets
# in, and then rank 0 listens no more. A rank that uses up its open files itself
# either leaves in order, or its job does not end with status 0.
#
#   with-hosts -n 2 -- strangers.sh MPI STRANGERS       MPI: openmpi or mpich
set -eu
# shellcheck source=tests/hosts/eventually.sh
. "$HOST_TOOLS/eventually.sh"
mpi=$1 strangers=$2
output=$TMPDIR/output
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
case $mpi in
openmpi)
  launcher=mpirun.openmpi
  options="--mca plm_rsh_agent $HOST_TOOLS/in-host --mca oob_tcp_if_include eth0
    --map-by ppr:1:node --host 10.88.0.1:8,10.88.0.2:8"
  ;;
mpich)
  launcher=mpiexec.hydra
  options="-launcher rsh -launcher-exec $HOST_TOOLS/in-host -iface eth0
    -hosts 10.88.0.1,10.88.0.2 -ppn 1"
  ;;
esac
command -v "$launcher" >/dev/null ||
  { echo "skipped: $launcher is not installed" && exit 77; }

# The ranks have room for 256 files. Two ranks on two hosts.
run_job() { # name, word...
  name=$1
  shift
  status=0
  # shellcheck disable=SC2086,SC2016 # the options are words; for the inner shell
  timeout -k 5 100 ip netns exec h1 unshare --uts sh -c 'hostname h1 && exec "$@"' \
    job $launcher $options -n 2 sh -c 'ulimit -S -n 256 && exec "$@"' rank \
    "$strangers" rank "$TMPDIR/$name.here" "$TMPDIR/$name.go" "$@" \
    >"$output" 2>&1 || status=$?
  echo $status >"$TMPDIR/$name.status"
}

# Prints the port on which rank 0 listens. It inherits listeners of Hydra as well.
listening() {
  ip netns exec h1 ss -Hltnp | grep '"strangers"' | grep -v hydra |
    awk '{ sub(/.*:/, "", $4); print $4 }'
}
listens() { test -n "$(listening)"; }

flood() {
  echo "-- 3,000 silent connections"
  run_job crowd &
  eventually listens || fail "rank 0 does not listen"
  port=$(listening)
  ip netns exec h2 "$strangers" connect 10.88.0.1 "$port" 3000 "$TMPDIR/connected" &
  eventually test -s "$TMPDIR/connected" || fail "the stranger could not connect"
  : >"$TMPDIR/crowd.go"
  eventually test -s "$TMPDIR/crowd.status" || fail "the job goes on"
  cat "$output"
  grep -q "rank 0 has opened 150 files" "$output" || fail "files could not be opened"
  grep -q "rank 0 listens no more" "$output" || fail "rank 0 listens although all are there"
  ! grep "no connection to" "$output" || fail "the leader did not get in"
  test "$(cat "$TMPDIR/crowd.status")" = 0 || fail "status $(cat "$TMPDIR/crowd.status")"
}
# Under Open MPI rank 0 listens only when all ranks have come, which takes no time.
test "$mpi" != mpich || flood

echo "-- rank 0 has no file left to open"
: >"$TMPDIR/closes.go"
run_job closes exhaust
cat "$output"
if grep -q "acp_finalize of rank [01]: -1" "$output"; then
  test "$(cat "$TMPDIR/closes.status")" != 0 || fail "acp_finalize failed, and status 0"
else
  test "$(grep -c "acp_finalize of rank [01]: 0" "$output")" = 2 || fail "no result"
  test "$(cat "$TMPDIR/closes.status")" = 0 || fail "status $(cat "$TMPDIR/closes.status")"
fi
