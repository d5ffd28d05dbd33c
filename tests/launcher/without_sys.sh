#!/bin/sh
# Where sysfs is not mounted no processor can be claimed. Ranks then run unbound with
# the reason, and tests of claims are skipped with it.
#
#   without_sys.sh <acprun> <launcher_binding_test> [--inside]
set -eu
acprun=$1 binding_test=$2
if test "${3:-}" != --inside; then
  as_root=
  test "$(id -u)" = 0 || as_root=--map-root-user
  # shellcheck disable=SC2086 # the option is a word
  unshare $as_root --mount mount -t tmpfs none /sys 2>/dev/null || {
    echo "skipped: /sys cannot be hidden: mount namespaces are not allowed here"
    exit 77
  }
  # shellcheck disable=SC2086
  exec unshare $as_root --mount "$0" "$acprun" "$binding_test" --inside
fi
mount -t tmpfs none /sys
test "$(nproc)" -ge 2 || { echo "skipped: this machine has one core" && exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "FAILED: $1"
  cat "$work/out"
  exit 1
}

reason='cannot be claimed: open(/sys/devices/system/cpu/cpu[0-9]*): No such file'
for how in auto core hwthread; do
  "$acprun" -np 2 --bind $how --report-bindings echo hello >"$work/out" 2>&1 ||
    fail "$how: status $?"
  test "$(grep -c hello "$work/out")" -eq 2 || fail "$how: no job of two ranks"
  grep -q "acprun: unbound: 2 ranks; .*$reason or directory; mount sysfs on /sys" \
    "$work/out" || fail "$how: another reason"
  ! grep -q 'other jobs' "$work/out" || fail "$how: other jobs are named"
done

"$binding_test" >"$work/out" 2>&1 || fail "a test of claims fails"
grep -q "^skipped: processors cannot be claimed: open(/sys/" "$work/out" ||
  fail "no test of claims is skipped"
echo ok
