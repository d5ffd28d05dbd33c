#!/bin/sh
# Jobs whose remote shell knows names of hosts that the hosts themselves cannot
# resolve, as with an alias in ~/.ssh/config. Ranks that need an address of another
# host say so at once. The other jobs run.
#
#   with-hosts -n 3 -- names.sh ACPRUN PROGRAM
set -eu
acprun=$1 program=$2
output=$TMPDIR/output

# in-host has the names h1, h2, h3.
HOST_LIST=$(seq -s , -f 'h%g:2' "$HOSTS")
export HOST_LIST

fail() { # text
  echo "FAILED: $1"
  cat "$output"
  exit 1
}

run() { # word...
  status=0
  "$HOST_TOOLS/job" "$acprun" "$@" >"$output" 2>&1 || status=$?
}

# No file and no server resolves the names.
: >"$TMPDIR/hosts"
: >"$TMPDIR/resolv.conf"
mount --bind "$TMPDIR/hosts" /etc/hosts
mount --bind "$TMPDIR/resolv.conf" /etc/resolv.conf

run "$program"
test $status != 0 || fail "unknown names: the job ended with status 0"
# The first rank that fails ends the job, so one host is enough.
grep -q "rank [0-5] on h[123]: .*knows no address of another host of this job (h[12]: " \
  "$output" || fail "no host says that it knows no address of another one"
grep -q "/etc/hosts of each host, or name the interface in ACP_UDP_INTERFACES" \
  "$output" || fail "unknown names: no advice"
if grep -q "silence" "$output"; then
  fail "unknown names: ranks waited for each other"
fi

run echo ordinary
test $status = 0 || fail "a program without ACP does not run"

export ACP_UDP_INTERFACES=eth0
run "$program"
test $status = 0 || fail "named interfaces do not need names of hosts"
unset ACP_UDP_INTERFACES

for host in $(seq "$HOSTS"); do
  echo "10.88.0.$host h$host" >>"$TMPDIR/hosts"
done
run "$program"
test $status = 0 || fail "names of /etc/hosts"
