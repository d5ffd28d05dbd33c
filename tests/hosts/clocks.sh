#!/bin/sh
# A host whose clocks differ from the clocks of the other hosts: the wall clock by
# seven hours, the monotonic clock and that since boot by five days. A job with traffic
# stays exact and runs into no limit of time.
#
#   with-hosts -- clocks.sh ACPRUN STEADY SHIFTED_CLOCK
set -eu
acprun=$1 steady=$2 shifted_clock=$3
output=$TMPDIR/output
days=500000 hours=-25000

fail() { # text
  echo "FAILED: $1"
  cat "$output"
  exit 1
}

unshare --time --monotonic $days --boottime $days --fork true 2>/dev/null ||
  { echo "skipped: the kernel has no time namespaces" && exit 77; }

# The daemon of h2 gives its time namespace to its ranks. Their environment is
# acprun's, so --wrap brings the library to them.
wall="env LD_PRELOAD=$shifted_clock CLOCK_SHIFT=$hours"
cat >"$TMPDIR/rsh" <<SHELL
#!/bin/sh
host=\$1
shift
case \$host in
10.88.0.2)
  exec unshare --time --monotonic $days --boottime $days --fork --kill-child \
    "$HOST_TOOLS/in-host" "\$host" $wall "\$@"
  ;;
esac
exec "$HOST_TOOLS/in-host" "\$host" "\$@"
SHELL
chmod +x "$TMPDIR/rsh"
export HOST_RSH="$TMPDIR/rsh"

echo "-- the clocks of ranks 2 and 3 differ"
# shellcheck disable=SC2016 # for the ranks' shell
"$HOST_TOOLS/job" "$acprun" --wrap "$wall" --wrap-ranks 2-3 sh -c \
  'echo $ACP_RANK $(date +%s) $(cut -d. -f1 /proc/uptime)' >"$output"
sort -n "$output" | awk -v days=$days -v hours=$hours '
  function differs(a, b) { return a - b > 60 || b - a > 60 }
  NR == 1 { wall = $2; up = $3 }
  { is_h2 = $1 == 2 || $1 == 3 }
  differs($2 - wall, is_h2 * hours) || differs($3 - up, is_h2 * days) { exit 1 }
  END { exit NR != 8 }
' || fail "the clocks are not as this test needs them"

echo "-- a job with traffic"
status=0
"$HOST_TOOLS/job" "$acprun" --acp-startermemsize=1M --stats --watchdog 20 \
  --wrap "$wall" --wrap-ranks 2-3 "$steady" 3 >"$output" 2>&1 || status=$?
test $status = 0 || fail "status $status"
grep -q "rounds were exact" "$output" || fail "the job said nothing"
! grep -E "error|warning" "$output" || fail "the job has complained"

echo "-- a host with other clocks dies"
status=0
# shellcheck disable=SC2016 # for the ranks' shell
"$HOST_TOOLS/job" "$acprun" --wrap "$wall" --wrap-ranks 2-3 sh -c \
  'test $ACP_RANK != 2 || exit 9; exec sleep 60' >"$output" 2>&1 || status=$?
test $status = 9 || fail "status $status instead of 9"
