#!/bin/sh
# tools/check installs the packages of its options, prints their names and sizes
# first, and starts no service.
#
#   packages_selftest.sh <source tree>
#
# A copy of the scripts runs as on an empty machine. Its dpkg-query knows no package.
# Its apt-get, and other programs that change a machine, only record their words.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/tools" "$work/bin"
cp "$1/tools/check" "$1/tools/list-skipped" "$1/tools/install-packages" \
  "$1/tools/packages.txt" "$work/tools"
ACP_POLICY_FILE=$work/policy-rc.d
unset ACP_SKIP_PACKAGES
export ACP_POLICY_FILE
calls=$work/calls

fake() { # fake <program>: standard input is the script
  { echo '#!/bin/sh' && cat; } >"$work/bin/$1"
  chmod +x "$work/bin/$1"
}
echo 'echo ${USER_NUMBER:-0}' | fake id
# Names that end with d or server are packages of services.
fake dpkg-query <<'END'
case $1 in
-W) for package; do :; done
  case " ${INSTALLED:-} " in *" $package "*) echo installed ;; *) exit 1 ;; esac ;;
-L) case $2 in
  *d | *server) printf '%s\n' /usr "/lib/systemd/system/$2.service" "/etc/init.d/$2" ;;
  procps) printf '%s\n' /lib/systemd/system/procps.service /etc/init.d/procps ;;
  esac ;;
esac
END
fake apt-get <<END
echo "apt-get \$*" >>"$calls"
case \$* in
*--assume-no*)
  echo '0 upgraded, 3 newly installed, 0 to remove and 0 not upgraded.'
  echo 'Need to get 93.5 MB of archives.'
  echo 'After this operation, 374 MB of additional disk space will be used.'
  exit 1 ;;
*' update') ;;
*' install '*)
  test -x "$work/policy-rc.d" && ! "$work/policy-rc.d" || echo "services may start"
  cat "$work/out" >"$work/said"
  exit \${APT_STATUS:-0} ;;
esac
END
echo "echo \"update-rc.d \$*\" >>'$calls'" | fake update-rc.d
# As the real one, it does nothing without the name of a package.
echo "test -z \"\$DPKG_MAINTSCRIPT_PACKAGE\" ||
  echo \"deb-systemd-helper \$*\" >>'$calls'" | fake deb-systemd-helper
fake sudo <<'END'
exit 1
END
echo : | fake cmake
fake ctest <<'END'
while test $# -gt 0; do
  test "$1" != --output-junit || echo >"$2"
  shift
done
END
PATH=$work/bin:$PATH
export PATH

fail() {
  echo "FAILED: $*"
  echo "-- output"
  cat "$work/out"
  echo "-- calls"
  cat "$calls"
  exit 1
}

run() { # run <expected status> <command>...
  expected=$1 status=0
  shift
  rm -rf "$work/build" "$work/said"
  mkdir -p "$work/build/dev"
  : >"$calls"
  "$@" >"$work/out" 2>&1 </dev/null || status=$?
  test $status = "$expected" || fail "$*: status $status, not $expected"
  ! grep -q "services may start" "$work/out" || fail "$*: services may start"
}

installed() { # the packages that apt-get was told to install, one a line
  sed -n 's/^apt-get .* -y install //p' "$calls" | tr ' ' '\n' | sort
}
groups() { # the packages of groups, one a line
  for group; do
    sed -n "s/^$group //p" "$work/tools/packages.txt"
  done | sort -u
}
expect() { # expect <command> <group>...: exactly these were installed
  what=$1
  shift
  installed >"$work/installed"
  groups "$@" | diff "$work/installed" - >"$work/diff" ||
    fail "$what installs other packages than: $*: $(cat "$work/diff")"
}

run 0 "$work/tools/check"
expect tools/check build tests
# It prints the names and sizes, and begins afterwards.
for text in 'missing, and are installed now' ' nftables' ' openmpi-bin' \
  '3 newly installed' 'Need to get 93.5 MB' '374 MB of additional disk space'; do
  grep -q -e "$text" "$work/said" || fail "tools/check did not say first: $text"
done
! grep -qE '^(deb-systemd-helper|update-rc.d)' "$calls" ||
  fail "tools/check changes services"
test ! -e "$ACP_POLICY_FILE" || fail "the policy has stayed"
tail -n 1 "$work/out" | grep -qx 'No test was skipped.' || fail "no last line"

run 0 "$work/tools/check" --quick
expect 'tools/check --quick' build

run 0 "$work/tools/check" --all
expect 'tools/check --all' build tests services format vm
for service in openssh-server slurmd slurmctld; do
  grep -qx "deb-systemd-helper disable $service.service" "$calls" &&
    grep -qx "update-rc.d $service disable" "$calls" ||
    fail "$service will start with the machine"
done
! grep -q procps.service "$calls" || fail "a service of another package is disabled"

# Installed packages are neither named nor changed.
INSTALLED="$(groups build | xargs) openssh-server"
export INSTALLED
run 0 "$work/tools/check" --quick
test ! -s "$calls" || fail "apt-get was called for nothing"
run 0 "$work/tools/check" --all
! grep -qE '(cmake|openssh-server)( |$|\.service)' "$calls" ||
  fail "a package that was there is installed, or its service disabled"
unset INSTALLED

# A policy of the machine stays. A failed installation leaves no policy of ours.
printf '#!/bin/sh\nexit 101\n' >"$ACP_POLICY_FILE"
chmod +x "$ACP_POLICY_FILE"
run 0 "$work/tools/check"
test -e "$ACP_POLICY_FILE" || fail "the policy of the machine is gone"
rm "$ACP_POLICY_FILE"
APT_STATUS=100 run 1 "$work/tools/check"
test ! -e "$ACP_POLICY_FILE" || fail "the policy has stayed after a failure"

# A user who is not root reads of two ways on, and the machine is unchanged.
USER_NUMBER=1000 run 1 "$work/tools/check"
grep -q 'apt-get install .*nftables' "$work/out" || fail "no command for root"
grep -q 'ACP_SKIP_PACKAGES=1' "$work/out" || fail "no way without packages"
test ! -s "$calls" || fail "something was tried"
ACP_SKIP_PACKAGES=1 USER_NUMBER=1000 run 0 "$work/tools/check" --all

# .ci/run installs the groups of tools/check --all, so it skips no test for a package.
ci=$(sed -n 's/^tools\/install-packages //p' "$1/.ci/run")
all=$(sed -n "s/^  groups='\(.*vm\)'/\1/p" "$1/tools/check")
for group in $all; do
  case " $ci " in
  *" $group "*) ;;
  *) fail ".ci/run does not install group $group" ;;
  esac
done
