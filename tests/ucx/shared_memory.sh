#!/bin/sh
# Hosts that see one boot id, one IPC namespace and one /dev/shm, as network
# namespaces and containers of one machine do. UCX then believes that its shared
# memory leads from host to host. A job without another way between the hosts
# ends soon, with an error that names rank, host and remedy. A job with a network
# takes the network between hosts, and shared memory inside each of them.
#
#   with-hosts -n 2 -- shared_memory.sh ACPRUN PROGRAM
set -eu
acprun=$1 program=$2
output=$TMPDIR/output
export ACP_NET=ucx ACP_SHM=off ACP_LOG=debug

fail() { # text
  echo "FAILED: $1"
  cut -c1-500 "$output"
  exit 1
}

job() { # setting...
  status=0
  env "$@" timeout 60 "$HOST_TOOLS/job" "$acprun" "$program" >"$output" 2>&1 ||
    status=$?
}

# fails SETTING...: the job has failed, and says why.
fails() { # setting...
  job "$@"
  case $status in 0 | 124) fail "$*: status $status" ;; esac
  for text in 'rank [0-3] is lost: rank [0-3] on h[12] over ucx' \
    'no way to it: .*nreachable' 'transports of networks with UCX_TLS' \
    "UCX's shared memory does not"; do
    grep -q "$text" "$output" || fail "$*: the output does not say '$text'"
  done
  echo "$*: ok"
}

fails UCX_TLS=posix,cma
fails UCX_TLS=sysv,cma
fails UCX_TLS=all UCX_NET_DEVICES=lo

# Ranks 0 and 1 are on h1, ranks 2 and 3 on h2. Each rank has an endpoint to each
# other one.
# lanes PLACE PATTERN: every endpoint to a rank of that place has this text.
lanes() {
  test "$(grep -c "$2" "$TMPDIR/$1")" = "$(wc -l <"$TMPDIR/$1")" ||
    fail "not every endpoint to $1 has '$2'"
}

job UCX_TLS=tcp,posix,cma,self UCX_NET_DEVICES=eth0
test $status = 0 || fail "a job with a network: status $status"
grep 'ucx: endpoint to rank' "$output" >"$TMPDIR/endpoints"
inside='rank [01] on.*to rank [01],|rank [23] on.*to rank [23],'
grep -E "$inside" "$TMPDIR/endpoints" >"$TMPDIR/this_host" ||
  fail "no endpoint inside a host"
grep -vE "$inside" "$TMPDIR/endpoints" >"$TMPDIR/other_host" ||
  fail "no endpoint between hosts"
lanes this_host 'mode NONE: .*/posix/'
lanes other_host 'mode PEER: .*/tcp/'
if grep posix "$TMPDIR/other_host"; then
  fail "shared memory between hosts"
fi
echo "a job with a network: ok"
