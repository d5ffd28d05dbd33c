#!/bin/sh
# tools/list-skipped names each test that was skipped, with the reason, and no other.
#
#   list_skipped_selftest.sh <source tree>
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

testcase() { # name, status element, output
  printf '<testcase name="%s">\n%s\n<system-out>%s\n</system-out>\n' "$@"
  echo '</testcase>'
}
skipped='<skipped message="SKIP_RETURN_CODE=77"/>'
{
  echo '<testsuite name="(empty)">'
  testcase unit.good '' 'all is well, nothing was skipped: really'
  testcase verbs "$skipped" 'rdma-vm: qemu is not installed'
  testcase verbs.one "$skipped" 'there are 0 RDMA devices here'
  testcase verbs.two "$skipped" 'there are 0 RDMA devices here'
  testcase tty "$skipped" 'Filters: tty
skipped: no terminal
All tests passed'
  echo '</testsuite>'
} >"$work/some.xml"
{
  testcase unit.good '' 'fine'
} >"$work/none.xml"

"$1/tools/list-skipped" "$work/some.xml" >"$work/found"
diff -u - "$work/found" <<'END'

Skipped, because this machine lacks something:
  verbs: rdma-vm: qemu is not installed
  tty: no terminal
  verbs.*, 2 tests: no RDMA device here
tools/check --all installs the packages that tests need, also sshd, Slurm, Grid
Engine and a virtual machine for RDMA devices. It starts no service of them.
END
# No package helps a test that lacks a terminal, or a device for more tests than verbs.
{
  testcase tty "$skipped" 'skipped: no terminal'
  testcase verbs.one "$skipped" 'there are 0 RDMA devices here'
} >"$work/other.xml"
"$1/tools/list-skipped" "$work/other.xml" >"$work/found"
diff -u - "$work/found" <<'END'

Skipped, because this machine lacks something:
  tty: no terminal
END
test -z "$("$1/tools/list-skipped" "$work/none.xml")"
