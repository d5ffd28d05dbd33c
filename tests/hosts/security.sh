#!/bin/sh
# ACP_UDP_SECURITY on addresses that are not loopback addresses: a setting that is
# refused, one that warns, one rank with another setting, and encryption.
#
#   with-hosts -n 2 -- security.sh ACPRUN PROGRAM
set -eu
acprun=$1 program=$2
output=$TMPDIR/output
ACP_LOG=info
export ACP_LOG

fail() { # text
  echo "FAILED: $1"
  cat "$output"
  exit 1
}

# How many lines of the output have a text.
count() { # text
  grep -c "$1" "$output" || true
}

works() { # setting
  ACP_UDP_SECURITY=$1 "$HOST_TOOLS/job" "$acprun" "$program" >"$output" 2>&1 ||
    fail "$1: the job failed"
}

fails() { # environment, option of acprun...
  variable=$1
  shift
  if env "$variable" "$HOST_TOOLS/job" "$acprun" "$@" "$program" >"$output" 2>&1
  then
    fail "$variable: the job ended well"
  fi
}

fails ACP_UDP_SECURITY=off
test "$(count "ACP_UDP_SECURITY=off: 10.88.0.[12] is not a loopback \
address, and whoever reaches it could write into the memory of this job; leave \
the setting out, or say insecure instead of off")" != 0 || fail "off: no reason"

warning="udp: packets are not authenticated (ACP_UDP_SECURITY=insecure): \
whoever reaches 10.88.0.1 can write into the memory of this job"
works insecure
test "$(count "$warning")" = 1 || fail "insecure: $(count "$warning") warnings"
for setting in auto auth encrypt; do
  ACP_LOG=debug works $setting
  test "$(count insecure)" = 0 || fail "$setting: a warning"
  word=authenticated
  test $setting != encrypt || word=encrypted
  test "$(count "debug: udp: packets $word (")" = 4 ||
    fail "$setting: not every rank says how packets are protected"
done

# Rank 2 is on the second host.
reason="udp: rank [0-3] has packets [a-z]*, this one has them [a-z]*: set \
ACP_UDP_SECURITY alike for all ranks"
for setting in encrypt insecure; do
  fails ACP_UDP_SECURITY=auth --wrap "env ACP_UDP_SECURITY=$setting" \
    --wrap-ranks 2
  test "$(count "$reason")" != 0 || fail "auth and $setting: no reason"
done
