#!/bin/sh
# Starts jobs by ssh: acprun's default, with an sshd on each host of with-hosts but h1.
#
#   with-hosts -n 3 -- ssh.sh ACPRUN PROGRAM STEADY VICTIM
set -eu
acprun=$1 program=$2 steady=$3 victim=$4
output=$TMPDIR/output
# shellcheck source=tests/hosts/ssh_servers.sh
. "$HOST_TOOLS/ssh_servers.sh"

run_job() { # words of acprun
  status=0
  on h1 "$acprun" "$@" >"$output" 2>&1 || status=$?
}

start_ssh_servers 2 3

echo "-- a job of three hosts"
run_job -np 6 --host "$HOST_LIST" "$program"
test $status = 0 || fail "status $status"

echo "-- the exit status of a rank on another host"
# shellcheck disable=SC2016 # for the ranks' shell
run_job -np 2 --host 10.88.0.1:1,10.88.0.2:1 \
  sh -c 'test "$(hostname)" = h1 || exit 7; exec sleep 60'
test $status = 7 || fail "status $status instead of 7"
grep -q "rank 1 on .* at 10.88.0.2 .*exited with status 7" "$output" ||
  fail "acprun does not name rank and host"

start_steady() {
  : >"$output" # the line of the job before must not count
  on h1 "$acprun" -np 6 --host "$HOST_LIST" --acp-startermemsize=1M \
    "$steady" 60 >"$output" 2>&1 &
  job=$!
  eventually grep -q "first round" "$output" || fail "the job did not begin"
  begin=$(now_ms)
}

# Every limit of a test of deaths is counted from the death.
takes_at_most() { # milliseconds, what
  took=$(($(now_ms) - begin))
  echo "$2: $took ms"
  test $took -le "$1" || fail "$2: $took ms"
}

echo "-- the host of acprun is disconnected while the job works"
start_steady
ip link set v1 down
for host in h2 h3; do
  eventually is_empty $host || fail "processes are left on $host"
done
takes_at_most 15000 "the other hosts were empty"
status=0
wait $job || status=$?
takes_at_most 15000 "the job ended"
test $status != 0 || fail "the job ended well without the other hosts"
# acprun names a host that it has lost, and ranks there. Lines of the other hosts would
# come over the connections of ssh, which are lost.
grep -E "^acprun: .*(ranks (2-3|4-5)|rank [2-5] is lost)" "$output" |
  grep -q "10\.88\.0\.[23]" || fail "acprun does not name a host with its ranks"
ip link set v1 up
for address in 10.88.0.2 10.88.0.3; do
  eventually on h1 ssh -o BatchMode=yes $address true || fail "no way to $address"
done

# Each job has a rank on each host. One waits in acp_init for a rank of h3 that
# never comes, one works, one waits without any message, and one waits in
# acp_finalize.
echo "-- a host is disconnected from four jobs at once"
start_job() { # its name, word...
  name=$1
  shift
  on h1 "$acprun" -np 3 --host 10.88.0.1:1,10.88.0.2:1,10.88.0.3:1 \
    --acp-startermemsize=1M "$@" >"$TMPDIR/$name" 2>&1 &
  eval "job_$name=$!"
}
has_lines() { # number, file
  test "$(wc -l <"$2")" -ge "$1"
}
: >"$TMPDIR/here"
# shellcheck disable=SC2016 # for the ranks' shell
start_job starts sh -c 'test "$(hostname)" != h3 || { echo >"$1" && exec sleep 60; }
  exec "$0" 60' "$steady" "$TMPDIR/here"
start_job works "$steady" 60
: >"$TMPDIR/waiting"
start_job waits "$victim" in_wait stay "$TMPDIR/waiting"
: >"$TMPDIR/finalizing"
start_job finalizes "$victim" in_fini wait "$TMPDIR/finalizing"
output=$TMPDIR/starts
eventually has_lines 1 "$TMPDIR/here" || fail "no start"
output=$TMPDIR/works
eventually grep -q "first round" "$output" || fail "no job that works"
output=$TMPDIR/waits
eventually has_lines 3 "$TMPDIR/waiting" || fail "no job that waits"
output=$TMPDIR/finalizes
eventually has_lines 1 "$TMPDIR/finalizing" || fail "no job in acp_finalize"
begin=$(now_ms)
ip link set v3 down
for name in starts works waits finalizes; do
  output=$TMPDIR/$name
  status=0
  eval "wait \$job_$name" || status=$?
  takes_at_most 15000 "$name: the job ended"
  test $status != 0 || fail "$name: the job ended well without h3"
  grep -q "^acprun: .*10.88.0.3" "$output" || fail "$name: acprun does not name h3"
  grep -q "^acprun: .*rank 2" "$output" || fail "$name: acprun does not name rank 2"
done
for host in h1 h2 h3; do
  eventually is_empty $host || fail "processes are left on $host"
done
takes_at_most 15000 "all hosts were empty"
ip link set v3 up
output=$TMPDIR/output
eventually on h1 ssh -o BatchMode=yes 10.88.0.3 true || fail "no way back to h3"

# Whether a connection that is lost ends the job on all hosts.
ends_at_once() { # host, its ranks and the reason in acprun's line
  status=0
  wait $job || status=$?
  for host in h1 h2 h3; do
    eventually is_empty $host || fail "processes are left on $host"
  done
  takes_at_most 2000 "the job ended"
  test $status = 125 || fail "status $status instead of 125"
  grep -q "^acprun: host .*$1" "$output" || fail "acprun does not say: $1"
}

echo "-- an ssh of acprun is killed while the job works"
start_steady
killed=
for pid in $(ip netns pids h1); do
  case $({ tr '\0' ' ' <"/proc/$pid/cmdline"; } 2>/dev/null) in
  "ssh "*10.88.0.2*) kill -KILL "$pid" && killed=$pid ;;
  esac
done
test -n "$killed" || fail "there is no ssh to h2"
ends_at_once "10.88.0.2 with ranks 2-3: .*killed by signal 9"

echo "-- sshd of a host ends its connection while the job works"
start_steady
for pid in $(ip netns pids h3); do
  case $(cat /proc/"$pid"/comm 2>/dev/null) in sshd*) kill -KILL "$pid" ;; esac
done
ends_at_once "10.88.0.3 with ranks 4-5: .*exited with status 255"

echo "-- a host is disconnected while its login shell hangs"
on h3 "$sshd" -D -e -p 2200 \
  -o ForceCommand="sh -c 'echo >$TMPDIR/logged_in && exec sleep 60'" \
  2>>"$TMPDIR/h3.log" &
hanging=$!
eventually on h1 ssh-keyscan -p 2200 10.88.0.3 >"$output" 2>&1 ||
  fail "no sshd at port 2200"
on h1 "$acprun" -np 2 --host 10.88.0.1:1,10.88.0.3:1 --rsh "ssh -p 2200" \
  true >"$output" 2>&1 &
job=$!
eventually test -s "$TMPDIR/logged_in" || fail "no login"
begin=$(now_ms)
ip link set v3 down
status=0
wait $job || status=$?
takes_at_most 15000 "the job ended"
test $status = 125 || fail "status $status instead of 125"
grep -q "^acprun: host 10.88.0.3 with rank 1: .*not responding" "$output" ||
  fail "acprun does not name the host, or no reason of ssh"
kill $hanging
for pid in $(ip netns pids h3); do kill -KILL "$pid"; done
ip link set v3 up

echo "-- a name that does not exist"
run_job -np 2 --host 10.88.0.1:1,nosuch.invalid:1 true
test $status = 125 || fail "status $status instead of 125"
grep -q "^acprun: host nosuch.invalid with rank 1: .*Could not resolve" \
  "$output" || fail "acprun does not name the host, or no reason of ssh"

echo "-- a host that takes no packet"
# No host has this hardware address.
ip -n h1 neighbor add 10.88.0.99 lladdr 02:00:00:00:00:99 dev eth0
run_job -np 2 --host 10.88.0.1:1,10.88.0.99:1 --rsh-timeout 2 true
test $status = 125 || fail "status $status instead of 125"
grep -q "^acprun: host 10.88.0.99 with rank 1: .*did not answer within 2 s" \
  "$output" || fail "acprun does not name the host and the limit"

echo "-- no sshd answers"
run_job -np 2 --host 10.88.0.1:1,10.88.0.3:1 true
test $status = 125 || fail "status $status instead of 125"
grep -q "10.88.0.3.*Connection refused" "$output" ||
  fail "acprun says no reason of ssh"

echo "-- sshd accepts no key"
: >authorized_keys
run_job -np 2 --host 10.88.0.1:1,10.88.0.2:1 true
test $status = 125 || fail "status $status instead of 125"
grep -q "Permission denied" "$output" || fail "acprun says no reason of ssh"

echo "-- the key of a host has changed"
echo "* $(cut -d' ' -f1,2 key.pub)" >known_hosts
run_job -np 2 --host 10.88.0.1:1,10.88.0.2:1 true
test $status = 125 || fail "status $status instead of 125"
grep -q "Host key verification failed" "$output" ||
  fail "acprun says no reason of ssh"
test -z "$(ip netns pids h3)" || fail "processes are left on h3"
