#!/bin/sh
# Jobs in which every host has the address cards of all ranks, and jobs in which a
# rank fetches each address card that it needs, once for each color. The datagrams are
# authenticated, so a rank has to know its peer before it takes the first one.
#
#   with-hosts -n 3 -- addresses.sh ACPRUN CROWD CONTENTION
set -eu
acprun=$1 crowd=$2 contention=$3
output=$TMPDIR/output
export ACP_LOG=debug
# Each of 6 ranks has 4 ranks on other hosts.
pairs=24

fail() { # text
  echo "FAILED: $1"
  grep -v "^acprun: [0-9]* on " "$output" | cut -c1-300 | tail -n 60
  exit 1
}

# Runs the job. Prints how many address cards its ranks have fetched.
fetched() { # setting, program and its arguments
  when=$1
  shift
  ACP_ADDRESSES=$when "$HOST_TOOLS/job" "$acprun" "$@" >"$output" 2>&1 ||
    fail "ACP_ADDRESSES=$when: the job failed"
  grep -c "acprun has fetched the address card of rank" "$output" || true
}

expect() { # colors, program and its arguments
  colors=$1
  shift
  count=$(fetched all "$@")
  test "$count" = 0 || fail "$count address cards fetched that each host has"
  count=$(fetched fetch "$@")
  echo "$ACP_NET, $colors colors: $count address cards fetched"
  test "$count" -ge 2 || fail "$count address cards fetched"
  test "$count" -le $((colors * pairs)) || fail "address cards fetched twice"
}

for net in udp auto; do
  export ACP_NET=$net
  expect 1 "$crowd"
done
export ACP_UDP_INTERFACES=eth0,eth0,eth0,eth0
expect 4 "$contention" colors
