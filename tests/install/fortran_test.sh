#!/bin/sh
# Installs into a scratch folder, moves it, and builds Fortran programs there:
# the halo example by acpfc, by pkg-config, by CMake, and with modules that were
# compiled from the installed sources, as users of another compiler do. Each has
# to print what the halo example in C prints. The test also builds a
# program of QMP and the program of docs/fortran.md.
#
#   fortran_test.sh <source tree> <build tree> <scratch folder> <cmake> <cc>
#     <Fortran compiler>
set -eu
top=$1 build_dir=$2 work=$3 cmake=$4 cc=$5 fortran=$6
consumer=$top/tests/install/consumer/fortran
halo=$top/docs/examples/halo
ACP_FC=$fortran
export ACP_FC

rm -rf "$work"
mkdir -p "$work/objects"
cd "$work/objects"
"$cmake" --install "$build_dir" --prefix "$work/first" >"$work/install.log"
mv "$work/first" "$work/moved"
prefix=$work/moved
acpfc=$prefix/bin/acpfc

run() { # run <expected> <way> <program>
  output=$("$prefix/bin/acprun" -np 2 "$3" 2>&1)
  if [ "$output" != "$1" ]; then
    echo "$2: expected '$1', got '$output'" >&2
    exit 1
  fi
  echo "$2: $output"
}

"$prefix/bin/acpcc" "$halo.c" -o "$work/in_c"
result=$("$prefix/bin/acprun" -np 2 "$work/in_c")
test -n "$result"

"$acpfc" "$halo.f90" -o "$work/by_wrapper"
run "$result" acpfc "$work/by_wrapper"
"$acpfc" -c "$halo.f90" -o "$work/halo.o"
"$acpfc" -ndev udp "$work/halo.o" -o "$work/by_object"
run "$result" "acpfc -ndev udp" "$work/by_object"

# The program of docs/fortran.md.
awk '/^```fortran$/ { inside = 1; next } /^```$/ { if (inside) exit } inside' \
  "$top/docs/fortran.md" >"$work/greet.f90"
"$acpfc" -std=f2018 -Wall -Werror "$work/greet.f90" -o "$work/greet"
output=$("$prefix/bin/acprun" -np 3 "$work/greet" | sort)
if [ "$output" != "rank 0 got 102
rank 1 got 100
rank 2 got 101" ]; then
  echo "docs/fortran.md: the program printed '$output'" >&2
  exit 1
fi

PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name acp-fortran.pc)")
export PKG_CONFIG_PATH
# shellcheck disable=SC2046 # the flags are words
"$fortran" "$halo.f90" -o "$work/by_pkg_config" \
  $(pkg-config --cflags --libs acp-fortran)
run "$result" pkg-config "$work/by_pkg_config"

sum="2.5.4: sum 1"
"$acpfc" "$consumer/qmp_consumer.f90" -o "$work/qmp_by_wrapper" \
  -lqmp_fortran -lqmp
run "$sum" "acpfc -lqmp_fortran -lqmp" "$work/qmp_by_wrapper"
# shellcheck disable=SC2046
"$fortran" "$consumer/qmp_consumer.f90" -o "$work/qmp_by_pkg_config" \
  $(pkg-config --cflags --libs qmp-fortran)
run "$sum" qmp-fortran.pc "$work/qmp_by_pkg_config"

"$cmake" -G Ninja -S "$consumer" -B "$work/build" -DHALO="$halo.f90" \
  -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" \
  -DCMAKE_Fortran_COMPILER="$fortran" >"$work/configure.log"
"$cmake" --build "$work/build" >"$work/build.log"
run "$result" find_package "$work/build/halo"
run "$sum" find_package "$work/build/qmp_consumer"

# docs/fortran.md, "Another compiler".
sources=$prefix/share/acp/fortran
mkdir "$work/mine"
cd "$work/mine"
grep '\.f90$' "$sources/sources.txt" | while read -r file; do
  "$fortran" -c "$sources/$file"
done
"$prefix/bin/acpcc" -c "$sources/qmp_print.c"
ar rc libacp_fortran.a acp*.o
ar rc libqmp_fortran.a qmp*.o
mv "$(dirname "$(find "$prefix" -name acp.mod)")" "$work/not_there"
ACP_FC_MODULES=$work/mine
export ACP_FC_MODULES
"$acpfc" "$halo.f90" -o "$work/by_sources"
run "$result" "sources of the modules" "$work/by_sources"
"$acpfc" "$consumer/qmp_consumer.f90" -o "$work/qmp_by_sources" \
  -lqmp_fortran -lqmp
run "$sum" "sources of the modules" "$work/qmp_by_sources"
rm -rf "$work"
