#!/bin/sh
# A rank fetches an address card while acprun's daemon on the other host is
# stopped, and a rank of that host does so as well. Both block inside a callback
# of UCX. acprun notices the silence of the daemon, and the job ends. When the
# daemon runs again, it ends the ranks of its host.
#
#   with-hosts -n 2 -- stopped_daemon.sh ACPRUN LATE_CONTACT
set -eu
acprun=$1 program=$2
output=$TMPDIR/output
go=$TMPDIR/go
# A daemon counts as lost after a silence of 12 s. The rest is acprun's own
# limits, and busy cores.
limit_ms=30000
# shellcheck source=../hosts/eventually.sh
. "$HOST_TOOLS/eventually.sh"

fail() {
  echo "FAILED: $1"
  cat "$output"
  exit 1
}

are_ready() { test "$(grep -c '^ready$' "$output")" -eq 4; }

none_left() { test -z "$(ip netns pids h1)$(ip netns pids h2)"; }

# The processes of the second host, but not its ranks.
launchers_of_2() {
  for pid in $(ip netns pids h2); do
    case $(cat "/proc/$pid/comm" 2>/dev/null) in
    late_contact | '') ;;
    *) echo "$pid" ;;
    esac
  done
}

export ACP_NET=ucx UCX_TLS=tcp,self UCX_NET_DEVICES=eth0 ACP_LOG=debug
export ACP_ADDRESSES=fetch
: >"$output"
"$HOST_TOOLS/job" "$acprun" "$program" "$go" >"$output" 2>&1 &
job=$!
eventually are_ready || fail "the ranks are not ready"
stopped=$(launchers_of_2)
test -n "$stopped" || fail "there is no daemon on the second host"
# shellcheck disable=SC2086 # the processes are words
kill -STOP $stopped
begin=$(date +%s%N)
: >"$go"
status=0
wait $job || status=$?
took=$((($(date +%s%N) - begin) / 1000000))
# shellcheck disable=SC2086
kill -CONT $stopped 2>/dev/null || true
test $status -ne 0 || fail "the job ended well"
test $took -le $limit_ms || fail "the job ended after $took ms"
grep -q '^acprun: .*10\.88\.0\.2' "$output" || fail "acprun does not name the host"
eventually none_left || fail "processes are left: $(ip netns pids h1; ip netns pids h2)"
echo "status $status after $took ms: $(grep -m1 '^acprun: ' "$output")"
