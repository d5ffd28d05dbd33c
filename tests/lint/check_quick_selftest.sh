#!/bin/sh
# tools/check --quick goes on to build and test after a lint test that met its time
# limit, and says so; after a broken rule it stops. The status is never 0 then.
#
#   check_quick_selftest.sh <source tree>
#
# A copy of tools/check runs with a ctest and a cmake that only print.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/tools" "$work/bin" "$work/build/dev"
cp "$1/tools/check" "$1/tools/list-skipped" "$work/tools"
printf '#!/bin/sh\n' >"$work/tools/install-packages"
printf '#!/bin/sh\necho cmake\n' >"$work/bin/cmake"
# LINES: output of the second run of lint; without it, the first run passes.
cat >"$work/bin/ctest" <<'END'
#!/bin/sh
log= lint=
while test $# -gt 0; do
  case $1 in
  '^lint$') lint=first ;;
  --rerun-failed) lint=again ;;
  --output-log) log=$2 ;;
  --output-junit) echo >"$2" ;;
  esac
  shift
done
test -n "$lint" || { echo "ctest: the rest" && exit "$REST"; }
test -n "$LINES" || exit 0
test $lint = again || exit 8
echo "$LINES" | tee "$log"
case $LINES in *\*\*\**) exit 8 ;; esac
END
chmod +x "$work/tools/install-packages" "$work/bin/cmake" "$work/bin/ctest"

expect() { # status, whether the rest runs, whether it says "too slow"
  status=0
  PATH="$work/bin:$PATH" LINES=$lines REST=$rest \
    "$work/tools/check" --quick >"$work/out" 2>&1 || status=$?
  built=no slow=no
  ! grep -q 'ctest: the rest' "$work/out" || built=yes
  ! grep -q 'too slow, not wrong.* lint.format lint.docs within' "$work/out" ||
    slow=yes
  if test "$status $built $slow" != "$1 $2 $3"; then
    echo "status, tests, 'too slow' are $status $built $slow, not $1 $2 $3, after:"
    echo "$lines"
    cat "$work/out"
    exit 1
  fi
}

late='1/2 Test #1: lint.format ...***Timeout 300.12 sec
2/2 Test #2: lint.docs .....***Timeout 300.62 sec'
rest=0
lines='' && expect 0 yes no
lines='1/1 Test #1: lint.format ...   Passed    21.00 sec' && expect 0 yes no
lines=$late && expect 8 yes yes
test "$(grep -c 'too slow' "$work/out")" = 2
lines='1/1 Test #1: lint.docs ...***Failed     0.30 sec' && expect 8 no no
lines="$late
3/3 Test #3: lint.format_again ...***Skipped     0.30 sec" && expect 8 yes yes
lines="$late
3/3 Test #3: lint.prose ...***Failed     0.30 sec" && expect 8 no no
rest=5
lines=$late && expect 5 yes yes
