#!/bin/sh
# Kills one process of a job on all hosts, over and over: acprun, an agent, a
# keeper or a rank, at any time from before the start to after the first rounds. The
# remote shell of these hosts becomes the agent. The job must end soon, must leave no
# process, and must name the host of the killed process with its ranks and a reason.
# Only a killed acprun says nothing.
#
#   with-hosts -- kills.sh TIMES SEED ACPRUN STEADY
set -eu
times=$1 seed=$2 acprun=$3 steady=$4
# shellcheck source=tests/hosts/eventually.sh
. "$HOST_TOOLS/eventually.sh"
output=$TMPDIR/output
# A peer's silence ends a job after 10 s, so a job whose death was found by silence
# alone fails here.
limit_ms=2000

fail() { # text
  echo "FAILED: $1; kill $kill of $times, seed $seed: $what after $delay s"
  cat "$output"
  exit 1
}

processes() {
  for host in $(seq "$HOSTS"); do
    ip netns pids "h$host"
  done
}

host_of() { # process
  for host in $(seq "$HOSTS"); do
    ! ip netns pids "h$host" | grep -qx "$1" || echo "$host"
  done
}

# Whether acprun's first line names a host, ranks and a reason. acprun calls its own
# host by its host name.
says_why() { # host
  name=10.88.0.$1
  test "$1" != 1 || name='(h1|10.88.0.1)'
  grep -m1 "^acprun: " "$output" |
    grep -E "(^acprun: host| on| at) $name( |$)" | grep -E " ranks? [0-9]" |
    grep -qE "was killed by signal 9|exited with status|could not be started"
}

# A number from 0 to $1 - 1, from the seed and the names of the draw.
draw() { # below, name
  echo "$seed $kill $2" | cksum | cut -d' ' -f1 | awk "{ print \$1 % $1 }"
}

worst=0
for kill in $(seq "$times"); do
  what=nothing
  delay=$(awk "BEGIN { print $(draw 1200 delay) / 1000 }")
  "$HOST_TOOLS/job" "$acprun" --acp-startermemsize=1M "$steady" 60 \
    >"$output" 2>&1 &
  job=$!
  sleep "$delay" # the moment of the death, not a wait for something
  pids=$(processes)
  tries=200
  while test -z "$pids" && test $tries -gt 0; do # the machine is busy
    tries=$((tries - 1))
    sleep 0.05
    pids=$(processes)
  done
  count=$(echo "$pids" | wc -w)
  test "$count" -gt 0 || fail "there is no process"
  # shellcheck disable=SC2086 # the processes are words
  pid=$(echo $pids | cut -d' ' -f$(($(draw "$count" process) + 1)))
  what="$(cat "/proc/$pid/comm" 2>/dev/null || echo gone) ($pid)"
  # A process that stands before acprun in its command, such as hostname, lives
  # for a moment only, and acprun does not see its death.
  host=
  test "$pid" = $job || test "$(cat /proc/$job/comm 2>/dev/null)" != acprun ||
    host=$(host_of "$pid")
  begin=$(now_ms)
  command kill -KILL "$pid" 2>/dev/null ||
    { host= && what="$what, gone before: acprun's SIGTERM" && command kill $job; }
  # If acprun died, all other processes see it.
  status=0
  wait $job || status=$?
  tries=200
  while test -n "$(processes)"; do
    tries=$((tries - 1))
    test $tries -gt 0 || fail "processes are left: $(processes | xargs)"
    sleep 0.1
  done
  took=$(($(now_ms) - begin))
  test $took -le $limit_ms || fail "the job ended after $took ms"
  test $status != 0 || fail "the job ended well"
  test -z "$host" || says_why "$host" || fail "no reason, no rank, or not host h$host"
  test $took -le $worst || worst=$took
  echo "$kill: $what at $delay s: status $status after $took ms,$(
    grep -m1 '^acprun: ' "$output" | cut -d: -f2- || true
  )"
done
echo "the slowest end took $worst ms"
