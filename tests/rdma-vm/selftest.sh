#!/bin/bash
# Tests what tests/rdma-vm/run promises: output, status, environment, files that
# can be written and files that cannot, devices, the time limit, nothing left.
#
#   selftest.sh COMMAND [ARGUMENT...]
#
# Runs the command in the machine too, so that one start serves both, and fails
# when it fails. The command finds four devices.
set -u
run=$(realpath "$(dirname "$0")")/run
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work/tmp
mkdir "$TMPDIR" "$work/writable"
failures=0
check() { # what, wanted, found
  test "$2" = "$3" && return
  echo "$1: expected '$2', found '$3'"
  failures=$((failures + 1))
}

cd "$work" || exit 1
COLOR='two  words' "$run" -n 4 -w "$work/writable" -t 1500 -- bash -c '
  echo "out $0 $COLOR $PWD"
  echo err >&2
  echo kept >writable/kept
  echo gone >gone
  for device in rxe0 rxe3; do
    ibv_devinfo -d $device | grep -c PORT_ACTIVE
  done
  env TMPDIR=/tmp "$@" >writable/inside 2>&1
  echo $? >writable/status
  exit 7' 'an argument' "$@" >out 2>err
status=$?
if test $status = 77; then
  cat err
  exit 77
fi
check status 7 $status
check stdout "out an argument two  words $work
1
1" "$(cat out)"
check stderr err "$(cat err)"
check "a writable file" kept "$(cat writable/kept 2>/dev/null)"
check "a file elsewhere" "" "$(cat gone 2>/dev/null)"
check "what ran inside" 0 "$(cat writable/status 2>/dev/null)"
cat writable/inside

"$run" -t 1 -- true 2>err
check "status of a late one" 124 $?
check "message of a late one" "rdma-vm: not done after 1 s" "$(cat err)"
check "what is left" "" "$(ls "$TMPDIR")"
exit $((failures > 0))
