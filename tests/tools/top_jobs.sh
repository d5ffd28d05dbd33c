#!/usr/bin/env bash
# acp_top --once and --json beside jobs that are stuck, stopped, killed, and busy.
#
#   top_jobs.sh <acprun> <acp_top> <stuck>
acprun=$1 top=$2 stuck=$3
# shellcheck source=tests/tools/top_common.bash
. "$(dirname "$0")/top_common.bash"

# finds <what> <pattern>: looks until the pattern is there, since a rank that is ready may
# not wait yet. $out is the last table.
finds() { eventually "$1: acp_top shows '$2'" look_for "$2"; }
# shellcheck disable=SC2317 # eventually calls it
look_for() {
  out=$("$top" "$job" --once)
  grep -qE -- "$1" <<<"$out"
}

# --- Completion of options, in bash.
# shellcheck source=tools/acp_top/acp_top.bash
. "$(dirname "$0")/../../tools/acp_top/acp_top.bash"
COMP_WORDS=(acp_top --on) COMP_CWORD=1
_acp_top
[ "${COMPREPLY[*]}" = --once ] || fail "completion of --on: ${COMPREPLY[*]}"

# --- A circle: the ranks, their calls and peers, and the circle.
start 3 circle
finds "a circle" CIRCLE
says circle "^CIRCLE of 3 ranks, for .*: 0 -> 2 -> 1 -> 0$" "$out"
says circle "^STUCK: no rank has got any further" "$out"
says circle " 1 .* acp_wait_ch \(receive\) +0 " "$out"
says circle "job $job, 3 ranks on 1 host, .*stuck circle" "$out"
json=$("$top" "$job" --json --interval 0.25)
says json '"call": "acp_wait_ch \(receive\)"' "$json"
# The file shows the same ranks again, also without a job.
echo "$json" >"$scratch/job.json"
says file "acp_wait_ch" "$("$top" --from "$scratch/job.json" --once)"
[ "$("$top" --from "$scratch/job.json" --json)" = "$json" ] ||
  fail "--from and --json do not write what they read"

# --- Another user may not attach.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
  cp "$top" "$scratch/acp_top"
  chmod 755 "$scratch"
  other=(setpriv --reuid 65534 --regid 65534 --clear-groups env "XDG_RUNTIME_DIR=$scratch")
  text=$("${other[@]}" "$scratch/acp_top" "$job" --once 2>&1) &&
    fail "another user attached"
  says "another user" "no job of acprun|no acprun of this user" "$text"
  chmod 700 "$scratch"
fi

# --- A stopped rank is named, with the command that helps. The job goes on after it.
rank=$(pgrep -f "^$stuck circle" | head -n 1)
kill -STOP "$rank"
eventually "acp_top shows the stopped rank" \
  sh -c "'$top' '$job' --once | grep -q 'kill -CONT $rank'"
kill -CONT "$rank"

# --- acprun is stopped: acp_top says so, and ends.
kill -STOP "$job"
text=$("$top" "$job" --once 2>&1) && fail "a stopped acprun answered"
says "stopped acprun" "does not answer within 5 s: is it stopped" "$text"
kill -CONT "$job"
eventually "acprun answers again" sh -c "'$top' '$job' --once >'$scratch/again'"
end_job

# --- A rank is missing in acp_sync.
start 3 missing
finds "a missing rank" "wait in acp_sync"
says missing "^2 ranks wait in acp_sync; rank 1 is computing" "$out"

# --- A killed acprun leaves a socket, which acp_top removes.
kill -KILL "$job"
wait "$job" 2>/dev/null || true
[ -S "$scratch/acp/acprun-$job" ] || fail "no socket to remove"
"$top" "$job" --once 2>/dev/null && fail "a killed acprun answered"
[ ! -e "$scratch/acp" ] || fail "acp_top has left the socket of a killed acprun"
exec {order}>&-

# --- Ranks of two hosts, whose names mean this machine. One host falls silent.
printf '#!/bin/sh\nshift\nexec "$@"\n' >"$scratch/rsh"
chmod 755 "$scratch/rsh"
start 4 circle --host a:2,b:2 --rsh "$scratch/rsh"
finds "a circle of two hosts" CIRCLE
says "two hosts" "job $job, 4 ranks on 2 hosts" "$out"
says "two hosts" "^CIRCLE of 4 ranks, for .*: 0 -> 3 -> 2 -> 1 -> 0$" "$out"
says "two hosts" "^ +0 a .* acp_wait_ch" "$out"
says "two hosts" "^ +3 b .* acp_wait_ch" "$out"
says "packets over udp" '"sent": [1-9]' "$("$top" "$job" --json --interval 0.25)"
daemon=$(pgrep -P "$job" -f -- --daemon | tail -n 1)
kill -STOP "$daemon"
out=$("$top" "$job" --once --interval 0.25)
kill -CONT "$daemon"
says "a silent host" ", 2 unknown$" "$out"
end_job

# --- A busy job moves.
start 2 busy
out=$("$top" "$job" --once --interval 0.25)
! grep -qE "STUCK|CIRCLE" <<<"$out" || fail "a busy job is called stuck: $out"
end_job
exit $failed
