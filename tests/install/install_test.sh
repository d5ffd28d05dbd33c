#!/bin/sh
# Installs into a scratch folder, moves it, and builds a user's program there
# in four ways: acpcc, pkg-config, with libacp.a, CMake's find_package. And one
# of QMP: qmp-config, pkg-config, acpcc, with libqmp.a, find_package. And one of
# each older interface, with the shared library and with the archive, by command
# and by find_package.
#
#   install_test.sh <source tree> <build tree> <scratch folder> <cmake> <cc> <cxx>
set -eu
consumer=$1/tests/install/consumer build_dir=$2 work=$3 cmake=$4 cc=$5 cxx=$6

run() { # run <way> <program>
  output=$("$prefix/bin/acprun" -np 2 "$2")
  case $output in
  *": 2 ranks") echo "$1: $output" ;;
  *)
    echo "$1: expected '<version>: 2 ranks', got '$output'" >&2
    exit 1
    ;;
  esac
}

rm -rf "$work"
mkdir -p "$work"
"$cmake" --install "$build_dir" --prefix "$work/first" >"$work/install.log"
# An installation may be moved: nothing in it names where it was.
mv "$work/first" "$work/moved"
prefix=$work/moved
for file in bin/acprun bin/acpcc bin/acpgcc bin/acpc++ bin/acpcxx \
  bin/acp_info bin/acp_perf include/acp.h include/acp/gma.h \
  bin/qmp-config include/qmp.h include/qmp.hpp; do
  if ! test -e "$prefix/$file"; then
    echo "$file is not installed" >&2
    exit 1
  fi
done

"$prefix/bin/acpcc" "$consumer/consumer.c" -o "$work/by_wrapper"
run acpcc "$work/by_wrapper"

PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name acp.pc)")
export PKG_CONFIG_PATH
libdir=$(pkg-config --variable=libdir acp)
# shellcheck disable=SC2046 # the flags are words
"$cc" "$consumer/consumer.c" -o "$work/by_pkg_config" \
  $(pkg-config --cflags --libs acp)
run pkg-config "$work/by_pkg_config"

# shellcheck disable=SC2046 # the flags are words
"$cc" $(pkg-config --cflags acp) "$consumer/consumer.c" -o "$work/by_archive" \
  "$libdir/libacp.a" $(pkg-config --libs-only-l --static acp | sed 's/-lacp //')
run archive "$work/by_archive"

"$cmake" -G Ninja -S "$consumer" -B "$work/build" -DCMAKE_PREFIX_PATH="$prefix" \
  -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" >"$work/configure.log"
"$cmake" --build "$work/build" >"$work/build.log"
run find_package "$work/build/consumer"

run find_package "$work/build/qmp_consumer"
run find_package "$work/build/lqcd_consumer"
run find_package "$work/build/lqcd_consumer_static"

config=$prefix/bin/qmp-config
# shellcheck disable=SC2046 # the flags are words
"$cc" $("$config" --cflags) "$consumer/qmp_consumer.c" \
  -o "$work/qmp_by_config" $("$config" --ldflags --libs)
run qmp-config "$work/qmp_by_config"
# shellcheck disable=SC2046
"$cc" "$consumer/qmp_consumer.c" -o "$work/qmp_by_pkg_config" \
  $(pkg-config --cflags --libs qmp)
run qmp.pc "$work/qmp_by_pkg_config"
"$prefix/bin/acpcc" "$consumer/qmp_consumer.c" -lqmp -o "$work/qmp_by_wrapper"
run "acpcc -lqmp" "$work/qmp_by_wrapper"
# shellcheck disable=SC2046
"$cc" $("$config" --cflags) "$consumer/qmp_consumer.c" \
  -o "$work/qmp_by_archive" "$libdir/libqmp.a" "$libdir/libacp.a" \
  $("$config" --libs | sed 's/-lqmp -lacp //')
run libqmp.a "$work/qmp_by_archive"
# shellcheck disable=SC2046
"$cc" $("$config" --cflags) "$consumer/lqcd_consumer.c" \
  -o "$work/lqcd_shared" $("$config" --ldflags) -llqcd -lqmp
run liblqcd.so "$work/lqcd_shared"
# shellcheck disable=SC2046
"$cc" $("$config" --cflags) "$consumer/lqcd_consumer.c" \
  -o "$work/lqcd_archive" "$libdir/liblqcd.a" "$libdir/libqmp.a" \
  "$libdir/libacp.a" $("$config" --libs | sed 's/-lqmp -lacp //')
run liblqcd.a "$work/lqcd_archive"
export COMMS_DEF='{GRID=2,1,1,1}'
run find_package "$work/build/scu_consumer"
run find_package "$work/build/scu_consumer_static"
# shellcheck disable=SC2046
"$cxx" $("$config" --cflags) -I"$prefix/include/scu" \
  "$consumer/scu_consumer.C" -o "$work/scu_shared" \
  $("$config" --ldflags) -lcommsMPI
run libcommsMPI.so "$work/scu_shared"
# shellcheck disable=SC2046
"$cxx" $("$config" --cflags) -I"$prefix/include/scu" \
  "$consumer/scu_consumer.C" -o "$work/scu_archive" "$libdir/libcommsMPI.a" \
  "$libdir/libqmp.a" "$libdir/libacp.a" \
  $("$config" --libs | sed 's/-lqmp -lacp //')
run libcommsMPI.a "$work/scu_archive"
unset COMMS_DEF

if [ "$("$config" --version)" != "$(pkg-config --modversion qmp)" ]; then
  echo "qmp-config and qmp.pc have different versions" >&2
  exit 1
fi
for question in --prefix --exec-prefix --comms --cc --copts --ranlib --ar; do
  test -n "$("$config" $question)"
done

"$prefix/bin/acp_info" >"$work/info.log"
"$prefix/bin/acprun" -np 2 "$prefix/bin/acp_perf" --help >"$work/perf.log"
rm -rf "$work"
