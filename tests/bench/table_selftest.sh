#!/bin/sh
# The table of tests/bench/peers: medians, units, missing rows, the better end of
# a row, and no column for a system without values.
#
#   table_selftest.sh
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/values" <<'END'
acp put8 5
acp put8 4
acp put8 30
acp_auth put8 16
openmpi put8 8
ucx put8 12
acp put8.rate 3
openmpi put8.rate 4
ucx put8.rate 0.3
acp channel.1M 1e3
acp put.64K 2
ucx put.64K 0.013
openmpi sync 9
END
"$here/peers" --table "$work/values" >"$work/table"
# shellcheck disable=SC2016 # the accents are the table's
grep -E '^\| (row|`(put8|put8.rate|put.64K|sync|channel.1M)`) |^\|-' \
  "$work/table" >"$work/found"
diff -u - "$work/found" <<'END'
| row | unit | ACP | ACP, authenticated | Open MPI, TCP | UCX, TCP | ACP to the best other | authenticated |
|---|---|---|---|---|---|---|---|
| `put8` | us | 5.00 | 16.0 | 8.00 | 12.0 | 1.60 | 0.50 |
| `put8.rate` | Mop/s | 3.00 | - | 4.00 | 0.30 | 0.75 | - |
| `put.64K` | GB/s | 2.00 | - | - | 0.013 | 153.85 | - |
| `sync` | us | - | - | 9.00 | - | - | - |
| `channel.1M` | us | 1000 | - | - | - | - | - |
END
test "$(wc -l <"$work/table")" -eq 18
