#!/usr/bin/env bash
# acp_top on a terminal of tmux, whose screen is read: a stuck job, keys, resizing, a
# rank that dies, and 300 ranks on 24 lines.
#
#   top_screen.sh <acprun> <acp_top> <stuck>
acprun=$1 top=$2 stuck=$3
command -v tmux >/dev/null || {
  echo "skipped: tmux is missing: apt-get install tmux"
  exit 77
}
# shellcheck source=tests/tools/top_common.bash
. "$(dirname "$0")/top_common.bash"

tm() { tmux -S "$scratch/tmux" -f /dev/null "$@"; }
close_terminal() { tm kill-server 2>/dev/null || true; }
trap 'close_terminal; clean_up' EXIT

# open_terminal <command>: 80 columns, 24 lines. The status of the command comes last.
open_terminal() {
  tm new-session -d -x 80 -y 24 "$1; echo status \$?; exec cat"
  tm set-option -g window-size manual >/dev/null
}
screen() { tm capture-pane -p; }
shows() { screen | grep -qE -- "$1"; }
sees() { # sees <what> <pattern>
  eventually "$1: the screen shows '$2'" shows "$2" || true
  shows "$2" || screen >&2
}
press() { tm send-keys "$@"; }
lines() { screen | wc -l; }

# --- A stuck job; keys; resizing.
start 3 circle
open_terminal "'$top' '$job' --interval 0.25"
sees circle "^CIRCLE of 3 ranks, for .*: 0 -> 2 -> 1 -> 0"
sees circle "acp_wait_ch \(receive\)"
sees circle "rows 1-3 of 3, by RANK"
press w
sees "order by time" "by WAITED down"
press / 0,2 Enter
sees filter "rows 1-2 of 2.*filter 0,2"
press Escape
sees "no filter" "rows 1-3 of 3, by RANK"
tm resize-window -x 130 -y 10
sees "a wider screen" "WAITS/s ARRIVE/s SENT/s RESENT/s"
[ "$(lines)" -eq 10 ] || fail "10 lines after the change of size, not $(lines)"
tm resize-window -x 40 -y 5
sees "a narrow screen" "^rows 1-.* of 3"
tm resize-window -x 80 -y 24
sees "80 columns again" "rows 1-3 of 3"
kill -STOP "$job"
sees "acprun is stopped" "acprun does not answer"
kill -CONT "$job"
sees "acprun goes on" "rows 1-3 of 3, by RANK   [?]"
press q
sees "the end" "status 0"
end_job
close_terminal

# --- A rank dies: the screen keeps the last state, and says why the job ends.
start 3 dies
open_terminal "'$top' '$job' --interval 0.25"
sees "before the death" "acp_sync"
echo go >&"$order"
sees "after the death" "^ENDED: rank 1 on .* exited with status 3"
sees "after the death" " 1 .* ended"
press q
sees "the end" "status 0"
wait "$job" || true
exec {order}>&-
close_terminal

# --- 300 ranks on 24 lines.
{
  printf '{"schema":1,"acprun":7,"job_ranks":300,"hosts":1,"program":"p","age_s":9,"end":"","ranks":['
  for rank in $(seq 0 299); do
    printf '%s{"rank":%s,"host":"a","core":null,"state":"asleep","call":"acp_wait_ch","peer":%s,' \
      "$([ "$rank" = 0 ] || echo ,)" "$rank" $(((rank + 1) % 300))
    printf '"waited_s":5,"waits_per_s":null,"arrivals_per_s":null,"sent_per_s":null,'
    printf '"resent_per_s":null,"sent":null,"resent":null,"pid":1,"started_as":%s}' "$rank"
  done
  printf ']}\n'
} >"$scratch/large.json"
open_terminal "'$top' --from '$scratch/large.json'"
sees "300 ranks" "^CIRCLE of 300 ranks, .* 5 -> \.\.\. -> 299 -> 0"
sees "300 ranks" "rows 1-18 of 300"
press NPage
sees "a page down" "rows 19-36 of 300"
press End
sees "the end of the list" "rows 283-300 of 300"
sees "the end of the list" "^ 299 a "
tm resize-window -x 80 -y 30
sees "more lines" "rows 277-300 of 300"
press Home
sees "the first rows" "^   0 a "
# The terminal goes away, and acp_top with it.
pid=$(pgrep -f "^$top --from $scratch/large.json")
close_terminal
eventually "acp_top ends with its terminal" sh -c "! kill -0 $pid 2>/dev/null"
exit $failed
