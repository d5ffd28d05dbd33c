# shellcheck shell=sh
# The beginning of scripts that read the log of a job: `run_logged WORD...` runs it
# with every line of the log in $output, and fail() shows them.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
output=$work/output

fail() { # text
  echo "FAILED: $1"
  cat "$output"
  exit 1
}

run_logged() { # word...
  ACP_LOG=debug "$@" >"$output" 2>&1 || fail "the job"
}
