#!/bin/sh
# Ranks with unlike settings of the network, and a host that lacks the program:
# each job ends, and says why.
#
#   with-hosts -n 2 -- unlike.sh ACPRUN PROGRAM
set -eu
acprun=$1 program=$2
output=$TMPDIR/output

fails() { # setting, text that the output has
  status=0
  "$HOST_TOOLS/job" "$acprun" --wrap "env $1" --wrap-ranks 1 "$program" \
    >"$output" 2>&1 || status=$?
  if test $status = 0 || ! grep -q "$2" "$output"; then
    echo "FAILED: $1: status $status"
    cat "$output"
    exit 1
  fi
}

# The first rank that compares ends the job, and the others may say nothing.
here='here, and rank'
fails ACP_NET=udp \
  "ACP_NET=\(auto $here 1\|udp $here 0\) has another: give all ranks the same"
fails ACP_SHM=off \
  "ranks 0 and 1 are on one host, and only one of them shares memory there"
# says TEXT: each of the four ranks tells which network the job uses, and why.
says() {
  ACP_LOG=info "$HOST_TOOLS/job" "$acprun" "$program" >"$output" 2>&1
  test "$(grep -c "info: $1" "$output")" = 4 || {
    echo "FAILED: not every rank says: $1"
    cat "$output"
    exit 1
  }
}
says "ACP_NET=auto: udp between hosts: no rank has an RDMA device"
export ACP_NET=shm
says "ACP_NET=shm: shared memory inside a host, udp between hosts"
unset ACP_NET

# h2 sees an empty folder where h1 has the program.
mkdir "$TMPDIR/programs"
cp "$program" "$TMPDIR/programs/program"
cat >"$TMPDIR/lacking-host" <<'SHELL'
#!/bin/sh
exec unshare --mount sh -c 'mount -t tmpfs empty "$TMPDIR/programs" &&
  exec "$HOST_TOOLS/in-host" "$@"' lacking "$@"
SHELL
chmod +x "$TMPDIR/lacking-host"
status=0
HOST_RSH=$TMPDIR/lacking-host "$HOST_TOOLS/job" "$acprun" \
  "$TMPDIR/programs/program" >"$output" 2>&1 || status=$?
if test $status != 127 ||
  ! grep -q "^acprun: host 10.88.0.2 with ranks 2-3: .*$TMPDIR/programs/program" "$output"; then
  echo "FAILED: a host without the program: status $status"
  cat "$output"
  exit 1
fi
