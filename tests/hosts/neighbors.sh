#!/bin/sh
# Jobs a and b run on all hosts, and job c of another user on h1. That user tries
# to read and to disturb a and b. An attacker sends packets of job a to ranks of b
# and the reverse. The memory of the three jobs stays exact.
#
#   with-hosts -- neighbors.sh ACPRUN STEADY ATTACKER INTRUDER
set -eu
# shellcheck source=tests/hosts/eventually.sh
. "$HOST_TOOLS/eventually.sh"
acprun=$1 steady=$2 attacker=$3 intruder=$4
seconds=15
user=64321 # needs no account

as_user() { # command...
  ip netns exec h1 setpriv --reuid $user --regid $user --clear-groups "$@"
}

fail() { # text
  echo "FAILED: $1"
  tail -n 30 "$TMPDIR"/*.out
  exit 1
}

as_user test -x "$intruder" 2>/dev/null ||
  { echo "skipped: user $user cannot run $intruder here" && exit 77; }

finish() { # job, process
  status=0
  wait "$2" || status=$?
  test $status = 0 || fail "job $1: status $status"
  grep -q "rounds were exact" "$TMPDIR/$1.out" || fail "job $1 said nothing"
}

"$HOST_TOOLS/job" "$acprun" --stats --acp-startermemsize=1M \
  "$steady" $seconds >"$TMPDIR/a.out" 2>&1 &
a=$!
"$HOST_TOOLS/job" "$acprun" --stats --acp-startermemsize=1M \
  "$steady" $seconds >"$TMPDIR/b.out" 2>&1 &
b=$!
as_user env ACP_NET=udp ACP_UDP_INTERFACES=eth0 "$acprun" -np 2 --stats \
  --acp-startermemsize=1M "$steady" $seconds >"$TMPDIR/c.out" 2>&1 &
c=$!
for job in a b c; do
  eventually grep -q "first round" "$TMPDIR/$job.out" ||
    fail "job $job did not begin"
done

# The processes of jobs a and b on h1. Every user can read their command lines.
pids=
for pid in $(ip netns pids h1); do
  test "$(stat -c %u "/proc/$pid")" != 0 || pids="$pids $pid"
  ! tr '\0' '\n' 2>/dev/null <"/proc/$pid/cmdline" |
    grep -E '[0-9a-fA-F]{64}|[A-Za-z0-9+/]{43}=' ||
    fail "the command line of $pid has what looks like a key"
  ! tr '\0' '\n' 2>/dev/null <"/proc/$pid/environ" |
    grep -E '=([0-9a-fA-F]{64}|[A-Za-z0-9+/]{43}=)$' ||
    fail "the environment of $pid has what looks like a key"
done
! find /dev/shm -name '*acp*' | grep . || fail "a shared memory file has a name"

# shellcheck disable=SC2086 # the processes are words
as_user "$intruder" 20000 $pids >"$TMPDIR/intruder.out" 2>&1 ||
  fail "the second user was not kept out"
"$attacker" v2 20000 >"$TMPDIR/attacker.out" ||
  fail "the attacker could not begin"
finish a $a
finish b $b
finish c $c
awk '$NF == 0 { exit 1 }' "$TMPDIR/attacker.out" ||
  fail "a kind of attack was not sent"
for job in a b; do
  for reason in malformed strays; do
    grep -q "dropped .* [1-9][0-9]* $reason" "$TMPDIR/$job.out" ||
      fail "job $job has dropped no packet as $reason"
  done
done
cat "$TMPDIR"/*.out
