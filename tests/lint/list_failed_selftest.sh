#!/bin/sh
# tools/list-failed names each test that failed, with its last lines, and no other.
#
#   list_failed_selftest.sh <source tree>
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/some" <<'END'
[3/3] Linking CXX executable tests/some
      Start  1: unit: a good one
 1/4 Test  #1: unit: a good one ..........   Passed    0.01 sec
      Start  2: udp.2
      Start  3: needs a device
 2/4 Test  #3: needs a device ............***Skipped   0.01 sec
no device
 3/4 Test  #2: udp.2 .....................***Failed    1.50 sec

first
rank 1: a check failed

      Start  4: verbs
 4/4 Test  #4: verbs .....................***Timeout   9.00 sec
      Start  7: verbs.inside
 1/1 Test  #7: verbs.inside ..............***Failed    0.20 sec
1
2
3
0% tests passed, 1 tests failed out of 1
50% tests passed, 2 tests failed out of 4

The following tests FAILED:
END
"$1/tools/list-failed" "$work/some" 18 >"$work/found"
diff -u - "$work/found" <<'END'
3 failed:
  udp.2: Failed    1.50 sec
  verbs: Timeout   9.00 sec
  verbs.inside: Failed    0.20 sec
---- udp.2: Failed    1.50 sec
first
rank 1: a check failed
---- verbs: Timeout   9.00 sec
---- verbs.inside: Failed    0.20 sec
     (1 lines before)
2
3
END

echo "1/1 Test #1: fine ...   Passed  0.01 sec" >"$work/none"
if "$1/tools/list-failed" "$work/none" >"$work/found"; then
  echo "no failed test, and yet status 0"
  exit 1
fi
test ! -s "$work/found"
