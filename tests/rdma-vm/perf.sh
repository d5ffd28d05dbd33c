#!/bin/bash
# Measures the time that the library adds to an RDMA device: rows of acp_perf
# beside rows of perftest, in turns on one device, as medians and ratios.
#
#   tests/rdma-vm/run -n 1 -- tests/rdma-vm/perf.sh BIN [TURNS]
#
# BIN has acprun and acp_perf, of a release build. Like beside like: a put of 16
# bytes and its completion beside ib_write_bw with one request under way, a get
# beside ib_read_lat, a stream of 64 KiB beside ib_write_bw. The column raw is a
# row of acp_perf itself, raw.rdma.*: requests of one queue pair in the same run,
# which can also post a chain. On the software device rxe words of 8 bytes go by
# message, and atomics do where agents execute them; there the rows are beside
# what the device would take by itself. Rows that end in .device are with
# ACP_VERBS_ATOMICS=device.
set -u
bin=$1 turns=${2:-3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
device=$(ls /sys/class/infiniband 2>/dev/null | head -n 1)
address=$(ip -4 -o addr show dev "${RDMA_NETDEV:-eth0}" |
  sed -n 's/.* inet \([0-9.]*\).*/\1/p' | head -n 1)
if test -z "$device" || test -z "$address" || ! command -v ib_write_bw >/dev/null
then
  echo "no RDMA device with an address, or no perftest"
  exit 77
fi
export ACP_NET=verbs ACP_SHM=off ACP_VERBS_DEVICES=$device

# raw PROGRAM FIELD ARGUMENT...: a field of the last line of its report.
raw() {
  local program=$1 field=$2 server
  shift 2
  "$program" -d "$device" -F -x "${RDMA_GID:-1}" "$@" >"$work/server" 2>&1 &
  server=$!
  for ((try = 0; try < 100; ++try)); do
    "$program" -d "$device" -F -x "${RDMA_GID:-1}" "$@" "$address" \
      >"$work/client" 2>&1 && break
    sleep 0.1
  done
  wait $server
  awk -v f="$field" '$1 ~ /^[0-9]+$/ { v = f < 0 ? $(NF + 1 + f) : $f }
    END { print v }' "$work/client"
}

rows='^(put8|get8|put16|get16|put16.rate|put.64K|add8|cas8|chain.put_add)$'
for ((turn = 0; turn < turns; ++turn)); do
  "$bin/acprun" -np 2 "$bin/acp_perf" --csv --time-ms 400 --rounds 1 \
    --rows "$rows" >>"$work/acp" 2>"$work/errors" || cat "$work/errors"
  ACP_VERBS_ATOMICS=device "$bin/acprun" -np 2 "$bin/acp_perf" --csv \
    --time-ms 400 --rounds 1 --rows '^(add8|cas8|chain.put_add)$' \
    2>"$work/errors" | sed '/^raw/! s/^\([^,]*\),/\1.device,/' >>"$work/acp"
  test "${PIPESTATUS[0]}" = 0 || cat "$work/errors"
  {
    # Messages a second of one that waits for each: million, so 1/x microseconds.
    echo "put $(raw ib_write_bw -1 -s 16 -t 1 -Q 1 -n 1000)"
    echo "rate $(raw ib_write_bw -1 -s 16 -n 2000)"
    echo "get $(raw ib_read_lat 5 -s 16 -n 1000)"
    echo "atomic $(raw ib_atomic_lat 5 -n 1000)"
    echo "stream $(raw ib_write_bw 4 -s 65536 -n 300 --report_gbits)"
  } >>"$work/raw"
done

median() { sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
acp() { awk -F, -v r="$1" -v c="$column" '$1 == r { print $c }' "$work/acp" | median; }
# The column of the medians.
column=$(head -n 1 "$work/acp" | tr ',' '\n' | grep -n '^p50$' | cut -d: -f1)
raw_of() { awk -v r="$1" '$1 == r { print $2 }' "$work/raw" | median; }
us() { awk -v v="$1" 'BEGIN { print v / 1000 }'; }
# line NAME UNIT ACP PERFTEST RAW: figures in the unit; an empty one is not there.
line() {
  awk -v n="$1" -v u="$2" -v a="$3" -v p="$4" -v r="$5" '
    function beside(v) {
      return v > 0 ? sprintf("%10.4g %6.2f", v, a / v) : sprintf("%17s", "") }
    BEGIN { printf "%-16s %10.4g %s %s  %s\n", n, a, beside(p), beside(r), u }'
}
# latency ROW PERFTEST RAW
latency() { line "$1" us "$(us "$(acp "$1")")" "$2" "$(us "$(acp "$3")")"; }

put=$(awk -v v="$(raw_of put)" 'BEGIN { print v == 0 ? 0 : 1 / v }')
get=$(raw_of get)
atomic=$(raw_of atomic)
printf "%-16s %10s %10s %6s %10s %6s  unit, medians of %d turns on %s\n" \
  row acp perftest ratio raw ratio "$turns" "$device"
latency put16 "$put" raw.rdma.put
latency get16 "$get" raw.rdma.get
latency put8 "$put" raw.rdma.put
latency get8 "$get" raw.rdma.get
latency add8 "$atomic" raw.rdma.add
latency cas8 "$atomic" raw.rdma.cas
latency add8.device "$atomic" raw.rdma.add
latency cas8.device "$atomic" raw.rdma.cas
latency chain.put_add "" raw.rdma.put_add
latency chain.put_add.device "" raw.rdma.put_add
line put.64K GB/s "$(acp put.64K)" \
  "$(awk -v v="$(raw_of stream)" 'BEGIN { print v / 8 }')" \
  "$(acp raw.rdma.stream)"
line put16.rate Mop/s "$(acp put16.rate)" "$(raw_of rate)" ""
