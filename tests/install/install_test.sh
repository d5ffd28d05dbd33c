#!/bin/sh
# Installs into a scratch folder, moves it, and builds a user's program there
# in four ways: acpcc, pkg-config, with libacp.a, CMake's find_package. A program
# of QMP is built by qmp-config, pkg-config, acpcc, with libqmp.a and by
# find_package. A program of each older interface is built with the shared library
# and with the archive, by command and by find_package. The test also builds
# projects in C alone, chooses a network by `acpcc -ndev`, and calls `acpcc
# -static`, which links or says why it does not. It checks which programs find
# modules, and the message about a module that is not there.
#
#   install_test.sh <source tree> <build tree> <scratch folder> <cmake> <cc> <cxx>
#     [<module>...]
set -eu
consumer=$1/tests/install/consumer build_dir=$2 work=$3 cmake=$4 cc=$5 cxx=$6
shift 6

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
  include/acp/acp.hpp include/acp/cpp/table.hpp share/doc/acp/examples/uts.cc \
  bin/qmp-config include/qmp.h include/qmp.hpp share/man/man1/acprun.1 \
  share/man/man1/acpcc.1 share/man/man1/macpc++.1 share/man/man1/qmp-config.1 \
  share/man/man1/acp_info.1 bin/acp_top share/man/man1/acp_top.1 \
  share/bash-completion/completions/acp_top share/man/man1/macprun.1 bin/macprun bin/macpcc \
  share/bash-completion/completions/acprun share/doc/acp/quickstart.md \
  share/doc/acp/tutorial/map.md share/doc/acp/examples/halo.c \
  share/doc/acp/examples/make_reads.sh share/doc/acp/examples/field.macprun; do
  if ! test -e "$prefix/$file"; then
    echo "$file is not installed" >&2
    exit 1
  fi
done
"$prefix/share/doc/acp/examples/make_reads.sh" 100 | grep -q '^>read0$'

"$prefix/bin/acpcc" "$consumer/consumer.c" -o "$work/by_wrapper"
run acpcc "$work/by_wrapper"

PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name acp.pc)")
export PKG_CONFIG_PATH
libdir=$(pkg-config --variable=libdir acp)
# shellcheck disable=SC2046 # the flags are words
"$cc" "$consumer/consumer.c" -o "$work/by_pkg_config" \
  $(pkg-config --cflags --libs acp)
run pkg-config "$work/by_pkg_config"

# shellcheck disable=SC2046
"$cc" "$consumer/consumer.c" -o "$work/by_static_pc" \
  $(pkg-config --cflags --libs acp_static)
run acp_static.pc "$work/by_static_pc"
if ldd "$work/by_static_pc" | grep libacp; then
  echo "acp_static.pc links libacp.so" >&2
  exit 1
fi

# shellcheck disable=SC2046 # the flags are words
"$cc" $(pkg-config --cflags acp) "$consumer/consumer.c" -o "$work/by_archive" \
  "$libdir/libacp.a" $(pkg-config --libs-only-l --static acp | sed 's/-lacp //')
run archive "$work/by_archive"

"$cmake" -G Ninja -S "$consumer" -B "$work/build" -DCMAKE_PREFIX_PATH="$prefix" \
  -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" >"$work/configure.log"
"$cmake" --build "$work/build" >"$work/build.log"
run find_package "$work/build/consumer"

# The first program of the page for C++, and its CMakeLists.txt, word for word.
block() { # block <language>: the first one of the page
  awk -v fence="\`\`\`$1" '$0 == fence { on = 1; next } /^```/ && on { exit } on' \
    "$prefix/share/doc/acp/cpp.md"
}
mkdir "$work/hello"
block cpp >"$work/hello/hello.cpp"
block cmake >"$work/hello/CMakeLists.txt"
"$prefix/bin/acpc++" -std=c++20 -Wall -Wextra "$work/hello/hello.cpp" \
  -o "$work/hello/by_wrapper"
"$cmake" -G Ninja -S "$work/hello" -B "$work/hello/build" \
  -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$cxx" >"$work/hello.log"
"$cmake" --build "$work/hello/build" >"$work/hello_build.log"
for program in by_wrapper build/hello; do
  "$prefix/bin/acprun" -np 4 "$work/hello/$program" | sort >"$work/hello/out"
  for line in "rank 0 of 4: 103" "rank 1 of 4: 100" "rank 2 of 4: 101" \
    "rank 3 of 4: 102"; do
    grep -qx "$line" "$work/hello/out"
  done
done

run find_package "$work/build/qmp_consumer"
run find_package "$work/build/lqcd_consumer"
run find_package "$work/build/lqcd_consumer_static"

"$cmake" -G Ninja -S "$consumer/c_only" -B "$work/c_only" \
  -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" >"$work/c_only.log"
"$cmake" --build "$work/c_only" >"$work/c_only_build.log"
run "find_package in C" "$work/c_only/consumer"
run "acp_static in C" "$work/c_only/consumer_static"

# libacp and programs load no library of a module.
for file in "$libdir/libacp.so" "$work/by_static_pc" "$prefix/bin/acp_info"; do
  if ldd "$file" | grep -E 'ibverbs|rdmacm|libucp|IPSec_MB'; then
    echo "$file links a library that is for modules" >&2
    exit 1
  fi
done
# Programs find the modules of their installation. Opening the network may fail
# here, for want of a device; not for want of the module.
for module; do
  test -e "$libdir/libacp-$module.so"
  for program in by_wrapper by_static_pc; do
    ACP_NET=$module ACP_LOG=debug "$work/$program" >"$work/module.log" 2>&1 || true
    found=$(sed -n 's/.* network [a-z]*: \(.*[.]so\)$/\1/p' "$work/module.log")
    if ! test "$found" -ef "$libdir/libacp-$module.so"; then
      echo "$program does not find libacp-$module.so in $libdir:" >&2
      cat "$work/module.log" >&2
      exit 1
    fi
  done
  mv "$libdir/libacp-$module.so" "$work"
  if ACP_NET=$module "$work/by_wrapper" >"$work/module.log" 2>&1 ||
    ! grep -q "install the package acp-$module" "$work/module.log"; then
    echo "without libacp-$module.so there should be an error:" >&2
    cat "$work/module.log" >&2
    exit 1
  fi
  ACP_MODULE_PATH=/nonexistent:$work ACP_NET=$module ACP_LOG=debug \
    "$work/by_wrapper" >"$work/module.log" 2>&1 || true
  grep -q "$work/libacp-$module.so" "$work/module.log"
  "$prefix/bin/acp_info" | grep -q "not installed: libacp-$module.so was not found"
  mv "$work/libacp-$module.so" "$libdir"
  "$prefix/bin/acp_info" | grep -q "module .*libacp-$module.so"
done

# The network that a program is linked for is its default, and no more.
has_net() { # has_net <expected> <way> <command...>
  expected=$1 way=$2
  shift 2
  net=$("$@")
  if [ "$net" != "$expected" ]; then
    echo "$way: the network is '$net', expected $expected" >&2
    exit 1
  fi
}
"$prefix/bin/acpcc" "$consumer/net_consumer.c" -o "$work/any_net"
"$prefix/bin/acpcc" -ndev UDP "$consumer/net_consumer.c" -o "$work/udp"
# shellcheck disable=SC2046
"$cc" "$consumer/net_consumer.c" -o "$work/udp_static" \
  $("$prefix/bin/acpcc" -ndev udp --showme:link | grep -o -e '-Wl,--defsym[^ ]*') \
  $(pkg-config --cflags --libs acp_static)
acprun=$prefix/bin/acprun
has_net auto "without -ndev" "$acprun" -np 1 "$work/any_net"
has_net udp "-ndev UDP" "$acprun" -np 1 "$work/udp"
has_net udp "-ndev udp, libacp.a" "$acprun" -np 1 "$work/udp_static"
has_net shm "-ndev and --acp-envnet" "$acprun" -np 1 --acp-envnet=shm "$work/udp"
has_net shm "-ndev and ACP_NET" env ACP_NET=shm "$work/udp"
has_net udp "-ndev without acprun" "$work/udp"

# The library looks in the program for each network that acpcc takes.
symbols=$(nm -D "$(find "$prefix" -name libacp.so)")
for net in $(sed -n "s/^nets='auto \(.*\)'/\1/p" "$prefix/bin/acpcc"); do
  if ! printf '%s\n' "$symbols" | grep -q " w acpx_ndev_$net\$"; then
    echo "acpcc -ndev $net: the library does not look for it" >&2
    exit 1
  fi
done

# A static program runs; where there is none, one sentence says what to do.
if "$prefix/bin/acpcc" -static "$consumer/consumer.c" -o "$work/static" \
  2>"$work/static.log"; then
  run "acpcc -static" "$work/static"
elif test "$(wc -l <"$work/static.log")" != 1 ||
  ! grep -q 'Leave -static out, or link ACP alone statically' "$work/static.log"; then
  echo "acpcc -static failed without saying why:" >&2
  cat "$work/static.log" >&2
  exit 1
fi

config=$prefix/bin/qmp-config
# shellcheck disable=SC2046 # the flags are words
"$cc" $("$config" --cflags) "$consumer/qmp_consumer.c" \
  -o "$work/qmp_by_config" $("$config" --ldflags --libs)
run qmp-config "$work/qmp_by_config"
if [ "$("$config" --libs)" != "-lqmp -lacp" ]; then
  echo "qmp-config --libs names more than the shared libraries" >&2
  exit 1
fi
# shellcheck disable=SC2046
"$cc" "$consumer/qmp_consumer.c" -o "$work/qmp_by_pkg_config" \
  $(pkg-config --cflags --libs qmp)
run qmp.pc "$work/qmp_by_pkg_config"
"$prefix/bin/acpcc" "$consumer/qmp_consumer.c" -lqmp -o "$work/qmp_by_wrapper"
run "acpcc -lqmp" "$work/qmp_by_wrapper"
# shellcheck disable=SC2046
"$cc" $("$config" --cflags) "$consumer/qmp_consumer.c" \
  -o "$work/qmp_by_archive" "$libdir/libqmp.a" "$libdir/libacp.a" \
  $("$config" --static-libs | sed 's/-lqmp -lacp //')
run libqmp.a "$work/qmp_by_archive"
# shellcheck disable=SC2046
"$cc" $("$config" --cflags) "$consumer/lqcd_consumer.c" \
  -o "$work/lqcd_shared" $("$config" --ldflags) -llqcd -lqmp
run liblqcd.so "$work/lqcd_shared"
# shellcheck disable=SC2046
"$cc" $("$config" --cflags) "$consumer/lqcd_consumer.c" \
  -o "$work/lqcd_archive" "$libdir/liblqcd.a" "$libdir/libqmp.a" \
  "$libdir/libacp.a" $("$config" --static-libs | sed 's/-lqmp -lacp //')
run liblqcd.a "$work/lqcd_archive"
echo "11 22" >"$work/rng.dat"
export COMMS_DEF="{GRID=2,1,1,1}{SEEDFILE=$work/rng.dat}"
# shellcheck disable=SC2046
"$cxx" $("$config" --cflags) -I"$prefix/include/scu" -Wall -Wextra -Werror \
  "$consumer/scu_text_consumer.C" -o "$work/scu_text" \
  $("$config" --ldflags) -lcommsMPI
run "the text's test of SCU" "$work/scu_text"
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
  $("$config" --static-libs | sed 's/-lqmp -lacp //')
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
