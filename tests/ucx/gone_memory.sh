#!/bin/sh
# Memory that the program has unmapped or protected while a peer uses it over
# UCX. The job ends, and the rank, the region, the address and the remedy are
# named. No access to such memory succeeds.
#
#   gone_memory.sh <acprun> <gone_memory>
set -eu
acprun=$1 gone_memory=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export ACP_NET=ucx ACP_SHM=off UCX_NET_DEVICES=lo
ulimit -c 0

bad() { # bad <case> <why>
  echo "$1: $2:" >&2
  cat "$work/output" >&2
  exit 1
}

# says <case> <text>...: the output of the last job has each text.
says() {
  name=$1
  shift
  for text; do
    grep -q -e "$text" "$work/output" || bad "$name" "the output does not say '$text'"
  done
}

job() { # job <access> <how>
  status=0
  timeout 60 "$acprun" -np 2 "$gone_memory" "$@" >"$work/output" 2>&1 ||
    status=$?
  name="$UCX_TLS, $*"
  if [ "$status" -eq 0 ] || [ "$status" -eq 124 ]; then
    bad "$name" "ended with status $status"
  fi
  if grep -q 'the access succeeded' "$work/output"; then
    bad "$name" 'an access to memory that is gone succeeded'
  fi
}

# is_named <access> <how>: such a job ends, and its output names the memory.
is_named() {
  reason='is not mapped'
  if [ "$2" = protect ]; then reason='is mapped ---p'; fi
  job "$@"
  says "$name" "rank 0 .*error: ucx: byte 4096 of the region of 65536 bytes" \
    "$reason: the program has" 'acp_unregister_memory.* before munmap' \
    'rank 0 .*signal 11'
  echo "$name: ok"
}

export UCX_TLS=posix,cma,self
is_named put unmap
is_named get protect
is_named add unmap
UCX_TLS=tcp,self
for access in put get add; do
  is_named $access unmap
  is_named $access protect
done
# The handler of the program has its turn after the line.
job put handle
says "$name" 'error: ucx: byte 4096 of the region' '^handled$'
echo "$name: ok"
