#!/bin/sh
# Runs a QMP job of two ranks whose receives start before the sends, with 14
# strided messages from each rank. Requires that the blocks of each message leave
# in one list with the message's word, and that no rank asks how to reach their
# memory: the receiver announces it in front of its grant. Each rank asks once, for
# library memory of the other, when it makes the channel.
#
#   qmp_flights.sh ACPRUN -np 2 QMP_SHAPE CASE
set -eu
# shellcheck source=tests/rdma-vm/logged-job.sh
. "$(dirname "$0")/logged-job.sh"

run_logged "$@"
sed -n 's/.*, \([0-9]*\) with a message behind,.* asked for \([0-9]*\) registrations.*/\1 \2/p' \
  "$output" >"$work/counts"
test "$(wc -l <"$work/counts")" = 2 || fail "not every rank says what it posted"
while read -r joined asked; do
  test "$joined" -ge 14 || fail "only $joined of 14 messages took one flight"
  test "$asked" -le 1 || fail "a rank has asked for $asked registrations"
done <"$work/counts"
grep '^ok' "$output"
