#!/bin/sh
# UCX's own log lines go to standard error, also those that it writes while it is
# loaded. So standard output has the program's words alone, and JSON stays JSON. A
# UCX_LOG_FILE of the user wins.
#
#   log_lines.sh <acprun> <acp_info> <acp_perf>
set -eu
acprun=$1 acp_info=$2 acp_perf=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset UCX_LOG_FILE
export UCX_LOG_LEVEL=debug UCX_TLS=tcp,self UCX_NET_DEVICES=lo
line='^\[[0-9.]*\].*UCX *(DEBUG|INFO|DIAG|WARN|ERROR)'

fail() {
  echo "FAILED: $1"
  head -n 5 "$work/out" "$work/err"
  exit 1
}

run() { # run <command>...
  "$@" >"$work/out" 2>"$work/err" || fail "$*: status $?"
  ! grep -qE "$line" "$work/out" || fail "$*: a log line on standard output"
}

is_json() { # the whole output is one value
  test "$(head -c 1 "$work/out")$(tail -c 2 "$work/out")" = '{}' ||
    fail "$1: standard output is more than JSON"
}

has_lines() {
  grep -qE "$line" "$work/err" || fail "$1: no log line on standard error"
}

run "$acp_info" --json
is_json acp_info
has_lines acp_info
run "$acp_info" --version
test "$(wc -l <"$work/out")" -eq 1 || fail "acp_info --version"

export ACP_NET=ucx ACP_SHM=off
run "$acprun" -np 2 "$acp_perf" --quick --json --rows '^(put8|raw.ucp.put8)$'
is_json acp_perf
has_lines acp_perf

# Without a level of the user acp_info lets UCX say nothing.
unset UCX_LOG_LEVEL
run "$acp_info" --json
! grep -qE "$line" "$work/err" || fail "acp_info: a log line without UCX_LOG_LEVEL"

export UCX_LOG_LEVEL=debug UCX_LOG_FILE="$work/user.log"
run "$acp_info" --json
grep -qE "$line" "$work/user.log" || fail "the user's log file has no line"
! grep -qE "$line" "$work/err" || fail "a log line beside the user's file"
echo ok
