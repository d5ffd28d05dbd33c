#!/bin/sh
# Standard output, standard input, exit status and signals of a job over hosts.
#
#   with-hosts -- streams.sh ACPRUN STEADY
set -eu
# shellcheck source=tests/hosts/eventually.sh
. "$HOST_TOOLS/eventually.sh"
# shellcheck disable=SC3045 # dash has it
ulimit -c 0 # a rank dies by SIGSEGV below
acprun=$1 steady=$2
output=$TMPDIR/output

fail() { # text
  echo "FAILED: $1"
  tail -20 "$output"
  exit 1
}

echo "-- 400,000 lines of eight ranks: each in one piece, in its rank's order"
cat >"$TMPDIR/writer" <<'WRITER'
awk -v rank="$ACP_RANK" 'BEGIN {
  for (i = 0; i < 50000; ++i) printf "%d:%06d:%064d\n", rank, i, i
}'
WRITER
"$HOST_TOOLS/job" "$acprun" sh "$TMPDIR/writer" >"$output"
awk -F: '
  NF != 3 || length($3) != 64 || $2 != $3 || next_of[$1]++ != $2 { ++bad }
  END { exit bad != 0 || NR != 400000 }
' "$output" || fail "a line is missing, damaged or late"

echo "-- 10 MiB of standard input reach rank 0 byte for byte"
head -c 10485760 /dev/urandom >"$TMPDIR/input"
# shellcheck disable=SC2016 # for the ranks' shell
"$HOST_TOOLS/job" "$acprun" sh -c 'test $ACP_RANK != 0 || cksum' \
  <"$TMPDIR/input" >"$output"
test "$(cat "$output")" = "$(cksum <"$TMPDIR/input")" || fail "bytes differ"

echo "-- exit statuses and signals of a rank on another host"
for end in "exit 3:3" "exit 255:255" "kill -TERM \$\$:143" "kill -KILL \$\$:137" \
  "kill -SEGV \$\$:139"; do
  status=0
  "$HOST_TOOLS/job" "$acprun" sh -c \
    "test \$ACP_RANK != 5 && exec sleep 60; ${end%:*}" >"$output" 2>&1 ||
    status=$?
  test $status = "${end##*:}" || fail "${end%:*}: status $status"
  grep -q "^acprun: rank 5 on h3 at 10.88.0.3 " "$output" ||
    fail "${end%:*}: rank and host are not named"
done

no_process_is_left() {
  for host in $(seq "$HOSTS"); do
    test -z "$(ip netns pids "h$host")" || return 1
  done
}

echo "-- SIGTERM to acprun ends the job"
"$HOST_TOOLS/job" "$acprun" --acp-startermemsize=1M "$steady" 60 \
  >"$output" 2>&1 &
job=$!
eventually grep -q "first round" "$output" || fail "the job did not begin"
kill -TERM $job # a shell lets its background ignore SIGINT
status=0
wait $job || status=$?
test $status = 143 || fail "status $status after SIGTERM"
no_process_is_left || fail "processes are left"

echo "-- a second SIGINT kills ranks that ignore the first"
# A shell lets its background ignore SIGINT.
env --default-signal=INT "$HOST_TOOLS/job" "$acprun" --grace 60 \
  sh -c 'trap "" INT TERM; echo ready; while :; do sleep 1; done' \
  >"$output" 2>&1 &
job=$!
all_are_ready() { test "$(grep -c '^ready' "$output")" = $((2 * HOSTS)); }
eventually all_are_ready || fail "the job did not begin"
kill -INT $job
eventually grep -q "again kills them now" "$output" || fail "SIGINT was not answered"
kill -INT $job
begin=$(date +%s)
status=0
wait $job || status=$?
test $status = 130 || fail "status $status after two SIGINTs"
test $(($(date +%s) - begin)) -le 10 || fail "the second SIGINT waited"
no_process_is_left || fail "processes are left"
