#!/bin/sh
# A build tree that is not built completely is not installed by halves: `cmake
# --install` fails before it copies a file, and names the command to call.
#
#   unbuilt_test.sh <source tree> <scratch folder> <cmake> <generator>
set -eu
top=$1 work=$2 cmake=$3 generator=$4

fail() {
  echo "FAILED: $1" >&2
  cat "$work/log" >&2
  exit 1
}

refuses() { # refuses <pattern of the first file> [<option of cmake --install>...]
  first=$1
  shift
  ! "$cmake" --install "$work/build" --prefix "$work/prefix" "$@" >"$work/log" 2>&1 ||
    fail "an unbuilt tree was installed"
  tr -s ' \n' ' ' <"$work/log" >"$work/text"
  grep -q "not built, the first is $work/build/$first\. " "$work/text" ||
    fail "the message does not name $first"
  grep -q "Build them all with cmake --build $work/build, and" "$work/text" ||
    fail "the message does not name the command"
  test ! -e "$work/prefix" || fail "files were copied"
}

rm -rf "$work"
mkdir -p "$work"
# The folder remembers that an earlier machine had no Fortran compiler.
"$cmake" -G "$generator" -S "$top" -B "$work/build" -DACP_BUILD_TESTS=OFF -Wno-dev \
  -DCMAKE_Fortran_COMPILER=CMAKE_Fortran_COMPILER-NOTFOUND \
  >"$work/log" 2>&1 || fail "the tree cannot be configured"
! command -v gfortran >/dev/null ||
  grep -q '^CMAKE_Fortran_COMPILER:[A-Z]*=/' "$work/build/CMakeCache.txt" ||
  fail "a Fortran compiler that was installed later is not found"
refuses '[^ ]*'
refuses 'bin/acprun' --component Unspecified

# A module is a component, which needs only its own file.
for module in verbs ucx; do
  grep -q "libacp-$module\.so" "$work"/build/*/cmake_install.cmake \
    "$work"/build/src/transport/*/cmake_install.cmake || continue
  refuses "lib/libacp-$module.so" --component "acp-$module"
  mkdir -p "$work/build/lib"
  cp "$(command -v env)" "$work/build/lib/libacp-$module.so"
  "$cmake" --install "$work/build" --prefix "$work/module" \
    --component "acp-$module" >"$work/log" 2>&1 ||
    fail "component acp-$module was refused"
done
echo "ok"
