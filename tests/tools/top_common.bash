# What the tests of acp_top share. The caller sets acprun, top and stuck.
#
# shellcheck disable=SC2034,SC2154
# Each test has a folder of its own for sockets, and names its job. So other jobs of
# this user may run meanwhile.
set -eu
scratch=$(mktemp -d /tmp/acp-top-XXXXXX)
chmod 700 "$scratch"
export XDG_RUNTIME_DIR=$scratch
started=()
failed=0

clean_up() {
  for pid in "${started[@]}"; do
    kill -KILL "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
  done
  rm -rf "$scratch"
}
trap clean_up EXIT

fail() {
  echo "FAILED: $1" >&2
  failed=1
}

# eventually <what> <command...>: repeats the command until it succeeds, for a minute.
eventually() {
  local what=$1 end=$((SECONDS + 60))
  shift
  until "$@"; do
    if [ $SECONDS -ge $end ]; then
      fail "not within a minute: $what"
      return
    fi
    read -r -t 0.05 <>"$scratch/never" || true
  done
}
mkfifo "$scratch/never"

# start <ranks> <word> [option...]: starts a job, whose acprun is $job, and waits until
# all ranks are ready. $order is a descriptor of its standard input.
start() {
  mkfifo "$scratch/order"
  "$acprun" -np "$1" --bind none "${@:3}" "$stuck" "$2" <"$scratch/order" \
    >"$scratch/out" 2>"$scratch/err" &
  job=$!
  started+=("$job")
  exec {order}>"$scratch/order"
  rm "$scratch/order"
  eventually "$1 ranks are ready" has_lines "$1"
}

has_lines() { [ "$(grep -c ready "$scratch/out")" -ge "$1" ]; }

# end_job: asks the job to end, and checks that its socket has gone.
end_job() {
  exec {order}>&-
  kill -TERM "$job" 2>/dev/null || true
  wait "$job" || true
  [ ! -e "$scratch/acp" ] || fail "acprun has left $(ls -A "$scratch/acp") in $scratch/acp"
}

# says <what> <pattern> <text>
says() {
  grep -qE -- "$2" <<<"$3" || fail "$1: no line '$2' in:
$3"
}
