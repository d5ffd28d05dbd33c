#!/bin/sh
# Kills one process of a job on all hosts, over and over: acprun, a daemon, a
# keeper or a rank. The remote shell of these hosts becomes the daemon. The job must
# end soon, must leave no process, and must name the host of the killed process with
# its ranks and a reason. Only a killed acprun says nothing.
#
#   with-hosts -- kills.sh TIMES SEED ACPRUN STEADY
#   with-hosts -- kills.sh calls SEED ACPRUN STEADY
#
# TIMES kills are at any time from before the start to after the first rounds, and
# hit any process. A start takes tens of milliseconds, so a third of the moments are
# drawn from the first 100 ms. `calls` makes one kill for each row of the table below.
set -eu
times=$1 seed=$2 acprun=$3 steady=$4
# shellcheck source=tests/hosts/eventually.sh
. "$HOST_TOOLS/eventually.sh"
output=$TMPDIR/output
each_host=$(seq "$HOSTS")
# A peer's silence ends a job after 10 s, so a job whose death was found by silence
# alone fails here.
limit_ms=2000
# The rank that never comes to the call in which the others wait.
absent=5

# Kills within a call: what steady does after its work, and the process. With
# `resets` the ranks call acp_reset again and again, so the kill meets any part of it.
calls="init:rank init:absent init:daemon init:keeper init:acprun
  reset:rank reset:absent reset:daemon reset:keeper reset:acprun
  finalize:rank finalize:absent finalize:daemon finalize:keeper finalize:acprun
  resets:rank resets:rank resets:daemon resets:keeper resets:acprun"

fail() { # text
  echo "FAILED: $1; kill $kill of $times, seed $seed: $what after $moment"
  cat "$output"
  exit 1
}

# Prints the processes of all hosts. It starts no program: a job would have left its
# start behind meanwhile.
processes() {
  for process in /proc/[0-9]*; do
    test -z "$(host_of "${process#/proc/}")" || echo "${process#/proc/}"
  done
}

host_of() { # process
  for host in $each_host; do
    # shellcheck disable=SC3013 # the shells of all machines have -ef
    if test "/proc/$1/ns/net" -ef "/run/netns/h$host"; then
      echo "$host"
      return
    fi
  done
}

# Prints the host that acprun has to name. A remote shell runs on the host of acprun
# until it has entered its own one, which its words or those of its parent name.
host_to_name() { # process
  of=$1
  case $(name_of "$1") in
  acprun* | steady | '') host_of "$1" && return ;;
  esac
  while test "${of:-$job}" != "$job"; do
    named=$({ tr '\0' '\n' <"/proc/$of/cmdline"; } 2>/dev/null |
      sed -nE 's/^(10\.88\.0\.|h)([0-9]+)$/\2/p' | head -n1)
    test -z "$named" || { echo "$named" && return; }
    of=$(sed -n 's/^PPid:[^0-9]*//p' "/proc/$of/status" 2>/dev/null || true)
  done
  host_of "$1"
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

# Starts a job. The shell in the background would empty the file later than a look at it.
start() { # word of steady...
  : >"$output"
  "$HOST_TOOLS/job" "$acprun" --acp-startermemsize=1M "$steady" "$@" \
    >"$output" 2>&1 &
  job=$!
}

# Sets the moment of the death.
draw_moment() { # below, in ms
  delay=$(awk "BEGIN { print $(draw "$1" delay) / 1000 }")
  moment="$delay s"
}

pass_time() {
  sleep "$delay" # the moment of the death, not a wait for something
}

# Prints the name of a process's program, or nothing if the process is gone.
name_of() { # process
  { read -r name <"/proc/$1/comm"; } 2>/dev/null || name=
  echo "$name"
}

is_rank() { # process
  test "$(name_of "$1")" = steady
}

# Whether each rank has said what it does, and sleeps since. It sleeps in the call, or
# is the rank that stays out.
are_within() {
  test "$(grep -c "^rank [0-9]* \(calls\|stays out of\) acp_" "$output")" = \
    $((2 * HOSTS)) || return 1
  for process in $(processes); do
    ! is_rank "$process" || grep -qs "^State:.S" "/proc/$process/status" || return 1
  done
}

go_on_with_resets() {
  test "$(grep -c "goes on with acp_reset" "$output")" = $((2 * HOSTS))
}

# Whether a process is of a kind. The absent rank is one of its own.
is_of_kind() { # process, kind
  name=$(name_of "$1")
  number=$({ tr '\0' '\n' <"/proc/$1/environ"; } 2>/dev/null | sed -n 's/^ACP_RANK=//p')
  case $2:$name in
  acprun:acprun) test "$1" = $job ;;
  daemon:acprun) test "$1" != $job ;;
  keeper:acprun-keeper) ;;
  rank:steady) test "$number" != $absent ;;
  absent:steady) test "$number" = $absent ;;
  *) return 1 ;;
  esac
}

# Sets pid to one of the processes, by the number drawn before.
choose_one_of() { # process...
  shift $((drawn % $#))
  pid=$1
}

# Sets pid, at any time of the job.
choose_at_any_time() {
  drawn=$(draw 1000000 process)
  below=1200
  test "$(draw 3 phase)" != 0 || below=100
  draw_moment $below
  start 60
  pass_time
  pids=$(processes)
  tries=1000
  while test -z "$pids" && test $tries -gt 0; do # the machine is busy
    tries=$((tries - 1))
    sleep 0.01
    pids=$(processes)
  done
  test -n "$pids" || fail "there is no process"
  # shellcheck disable=SC2086 # the processes are words
  choose_one_of $pids
}

# Sets pid when the ranks are within a call.
choose_in_call() { # call, kind
  start 0 "$1" $absent
  moment="acp_${1%s}"
  if test "$1" = resets; then
    eventually go_on_with_resets || fail "the ranks do not begin to reset"
    draw_moment 100
    pass_time
    moment="acp_reset again and again, $moment"
  else
    eventually are_within || fail "the ranks do not wait in acp_$1"
  fi
  pids=
  for process in $(processes); do
    ! is_of_kind "$process" "$2" || pids="$pids $process"
  done
  test -n "$pids" || fail "there is no process of kind $2"
  drawn=$(draw 1000000 process)
  # shellcheck disable=SC2086 # the processes are words
  choose_one_of $pids
}

# The summary tells in which call the other ranks were. For acp_init it has no word
# that they waited.
says_call() { # call
  words="were waiting in"
  test "$1" != init || words="were in"
  grep -q "^acprun: ranks [0-9,-]* $words acp_$1\( for \|$\)" "$output"
}

# Kills the process, and looks how the job ends.
kill_and_judge() {
  what="$(name_of "$pid") ($pid)"
  # A process that stands before acprun in its command, such as hostname, lives
  # for a moment only, and acprun does not see its death.
  host='' is_early=0
  if test "$(name_of $job)" = acprun; then
    test "$pid" = $job || host=$(host_to_name "$pid")
    grep -q "first round" "$output" || is_early=1
  fi
  begin=$(now_ms)
  command kill -KILL "$pid" 2>/dev/null ||
    { host='' is_early=0 && what="$what, gone before: acprun's SIGTERM" && command kill $job; }
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
  echo "$kill: $what at $moment: status $status after $took ms,$(
    grep -m1 '^acprun: ' "$output" | cut -d: -f2- || true
  )"
}

worst=0 kill=0 early=0 what=nothing moment=''
if test "$times" = calls; then
  for row in $calls; do
    kill=$((kill + 1)) what=nothing
    choose_in_call "${row%:*}" "${row#*:}"
    kill_and_judge
    case $row in
    resets:* | *:acprun) ;;
    *) says_call "${row%:*}" || fail "the summary does not name the call" ;;
    esac
  done
else
  while test $kill -lt "$times"; do
    kill=$((kill + 1)) what=nothing
    choose_at_any_time
    kill_and_judge
    early=$((early + is_early))
  done
  echo "$early of $times kills hit the job before its first round"
  what="the job" moment="all kills"
  test $((10 * early)) -ge "$times" || fail "too few kills in the start"
fi
echo "the slowest end took $worst ms"
