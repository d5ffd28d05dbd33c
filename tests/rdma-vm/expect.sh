# shellcheck shell=bash
# Functions for tests that give a job a fault: the job has to end soon, with a line that
# names the fault, and has to leave nothing behind. job-faults.sh and device-faults.sh
# include this file. It sets $work, a directory that disappears, and $failures.
if test -z "${ACP_RDMA_VM:-}"; then
  echo "only in the virtual machine of tests/rdma-vm"
  exit 77
fi
# The script starts again in namespaces of its own for processes and for names of
# memory. There it finds what its own jobs leave, and nothing of other tests.
if test "$1" != --inside; then
  exec unshare --mount --pid --fork --kill-child --mount-proc \
    "$0" --inside "$@"
fi
shift
mount -t tmpfs shm /dev/shm || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

# The functions below start no program where the shell can do it: in an emulated
# machine each program takes as long as a third of a job.

# A line of the file that matches the extended regular expression.
first_match() { # file, text
  local line
  while IFS= read -r line; do
    [[ $line =~ $2 ]] && echo "$line" && return
  done <"$1"
  return 1
}

# Prints the processes and names of memory that a job has left.
left() {
  local process name
  for process in /proc/[0-9]*; do
    { read -r name <"$process/comm"; } 2>/dev/null || continue
    case $name in acprun | victim) echo "${process#/proc/} $name" ;; esac
  done
  for name in /dev/shm/*; do
    test ! -e "$name" || echo "$name"
  done
}

# expect NAME STATUS TEXT [VARIABLE=VALUE...] COMMAND...: within a minute, and leaves
# nothing behind. STATUS may be "not 0".
expect() {
  local name=$1 wanted=$2 text=$3 begin=$SECONDS status left line i
  shift 3
  (
    while [[ $1 == [A-Z]*=* ]]; do
      export "$1"
      shift
    done
    exec timeout 60 "$@"
  ) >"$work/output" 2>&1
  status=$?
  for ((i = 0; i < 50; ++i)); do  # what was killed may be on its way
    left=$(left)
    test -z "$left" && break
    sleep 0.1
  done
  if test -n "$left"; then
    echo "left behind: $left" >>"$work/output"
    status=124
  fi
  if test "$wanted" = "not 0"; then
    test $status != 0 && test $status != 124
  else
    test $status = "$wanted"
  fi && line=$(first_match "$work/output" "$text")
  if test $? = 0; then
    echo "ok $name, $((SECONDS - begin)) s: $line"
    return
  fi
  echo "FAILED $name: status $status, wanted $wanted and '$text':"
  tail -n 20 "$work/output"
  failures=$((failures + 1))
}
# also TEXT: the output of the last command has another line, too.
also() {
  first_match "$work/output" "$1" && return
  echo "FAILED: no '$1' in"
  cat "$work/output"
  failures=$((failures + 1))
}
