#!/bin/sh
# Runs a job of channels whose large messages go to receives that wait, and requires
# that no rank asks how to reach memory: the receiver announces its buffers.
#
#   announced.sh ACPRUN -np 2 CHANNEL_GRANTS CASE
set -eu
# shellcheck source=tests/rdma-vm/logged-job.sh
. "$(dirname "$0")/logged-job.sh"

run_logged "$@"
sed -n 's/.*asked for \([0-9]*\) registrations, told of \([0-9]*\),.*/\1 \2/p' \
  "$output" >"$work/counts"
test "$(wc -l <"$work/counts")" = 2 || fail "not every rank says what it asked for"
if grep -qv '^0 ' "$work/counts"; then
  fail "a rank has asked for a registration"
fi
grep -q '^0 [1-9][0-9]' "$work/counts" ||
  fail "no rank has told of ten registrations"
grep '^ok' "$output"
