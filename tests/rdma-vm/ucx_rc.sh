#!/bin/sh
# Runs a job over UCX, and requires that every endpoint uses the RDMA device, by
# rc_verbs: UCX would fall back to TCP without a word. Each rank also has to have
# posted steps.
#
#   ucx_rc.sh ACPRUN [OPTION...] PROGRAM [CASE...]
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export ACP_NET=ucx ACP_SHM=off UCX_TLS=rc_verbs,tcp,self ACP_LOG=debug

fail() {
  echo "FAILED: $1"
  cat "$work/output"
  exit 1
}

"$@" >"$work/output" 2>&1 || fail "the job"
grep 'ucx: endpoint to rank' "$work/output" >"$work/endpoints" ||
  fail "there is no endpoint"
if grep -v 'rc_verbs/.* am' "$work/endpoints"; then
  fail "an endpoint sends messages without rc_verbs"
fi
sed -n 's/.*posted [0-9]* chains as \([0-9]*\) UCX operations.*/\1/p' \
  "$work/output" >"$work/posted"
test -s "$work/posted" || fail "no rank says how many steps it has posted"
if grep -qx 0 "$work/posted"; then
  fail "a rank has posted no step"
fi
grep '^ok' "$work/output"
