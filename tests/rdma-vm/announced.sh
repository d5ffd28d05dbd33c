#!/bin/sh
# Runs a job of channels whose large messages go to receives that wait, and requires
# that no rank asks how to reach memory: the receiver announces its buffers.
#
#   announced.sh ACPRUN -np 2 CHANNEL_GRANTS CASE
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export ACP_LOG=debug

fail() {
  echo "FAILED: $1"
  cat "$work/output"
  exit 1
}

"$@" >"$work/output" 2>&1 || fail "the job"
sed -n 's/.*asked for \([0-9]*\) windows, told of \([0-9]*\),.*/\1 \2/p' \
  "$work/output" >"$work/windows"
test "$(wc -l <"$work/windows")" = 2 || fail "not every rank says what it asked for"
if grep -qv '^0 ' "$work/windows"; then
  fail "a rank has asked for a window"
fi
grep -q '^0 [1-9][0-9]' "$work/windows" || fail "no rank has told of ten windows"
grep '^ok' "$work/output"
