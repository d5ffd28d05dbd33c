#!/bin/bash
# Measures one word of 8 bytes between two machines: the row put8 of acp_perf
# beside ib_write_lat of perftest, in turns, with two kernels between them.
#
#   tests/rdma-vm/run -c 2 -- tests/rdma-vm/machines-perf.sh BUILD [TURNS]
#
# BUILD is a release build. ib_write_lat reports half of a round trip, and put8 is
# over when its completion is there, so the row is a round trip. On the software
# device rxe a word goes by message, and the agent of the other machine stores it.
# "put8 by the device" is a write, as on other devices: spoof.cc gives rxe the name
# of another vendor.
set -u
build=$1 turns=${2:-3}
# shellcheck source=tests/hosts/eventually.sh
. "$(dirname "$0")/../hosts/eventually.sh"
if test -z "${ACP_RDMA_VM:-}" || ! command -v ib_write_lat >/dev/null; then
  echo "only in the first machine of tests/rdma-vm/run -c 2, with perftest"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd / || exit 1

perftest="ib_write_lat -d rxe0 -F -x 1 -s 8 -n 1000"
# It fails until the server in the other machine listens.
# shellcheck disable=SC2086,SC2317 # words; eventually calls it
client() { $perftest 10.77.0.2 >"$work/client" 2>&1; }

# put8 NAME WORD...: the median of the row in a job with these words before the
# program.
put8() {
  local name=$1 column
  shift
  ACP_NET=ib "$build/bin/acprun" -np 2 --host 10.77.0.1:1,10.77.0.2:1 "$@" \
    "$build/bin/acp_perf" --csv --time-ms 400 --rounds 1 --rows '^put8$' \
    >"$work/acp" 2>"$work/errors" || cat "$work/errors"
  column=$(head -n 1 "$work/acp" | tr ',' '\n' | grep -n '^p50$' | cut -d: -f1)
  awk -F, -v c="$column" -v name="$name" '$1 == "put8" {
    printf "%s %.1f us, ", name, $c / 1000 }' "$work/acp"
}

for ((turn = 1; turn <= turns; ++turn)); do
  echo -n "turn $turn: "
  put8 put8
  put8 "put8 by the device" \
    env LD_PRELOAD="$build/tests/rdma-vm/libverbs_spoof.so" RDMA_SPOOF=vendor
  # shellcheck disable=SC2029 # words of this script
  ssh 10.77.0.2 "$perftest" >"$work/server" 2>&1 &
  eventually client || cat "$work/client" "$work/server"
  wait
  awk '$1 == 8 { printf "ib_write_lat %.1f us, its round trip %.1f us\n",
    $5, 2 * $5 }' "$work/client"
done
