#!/usr/bin/env bash
# Installs, and uses HMPI as its users do: hmpirun with a program that knows nothing of
# HMPI, the compiler wrappers, pkg-config and CMake, for each MPI that is installed.
# Also the manual and the completion of hmpirun.
#
#   hmpi_test.sh <source tree> <build tree> <scratch folder> <cmake> <mpi...>
set -eu
source_dir=$1 build_dir=$2 work=$3 cmake=$4
shift 4
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

fail() {
  echo "$1" >&2
  exit 1
}

rm -rf "$work"
mkdir -p "$work"
"$cmake" --install "$build_dir" --prefix "$work/first" >"$work/install.log"
# An installation may be moved: nothing in it names where it was.
mv "$work/first" "$work/moved"
prefix=$work/moved
for file in bin/hmpirun bin/hmpicc bin/hmpic++ bin/hmpifort include/hmpi.h \
  share/man/man1/hmpirun.1 share/man/man1/hmpicc.1 share/man/man1/hmpifort.1 \
  share/bash-completion/completions/hmpirun \
  share/doc/acp/hmpi.md share/doc/acp/tutorial/hmpi.md \
  share/doc/acp/examples/fft_give.c; do
  test -e "$prefix/$file" || fail "$file is not installed"
done
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name acp.pc)")
export PKG_CONFIG_PATH
libdir=$(pkg-config --variable=libdir acp)

# Each rank sends to the next one of a ring. One line tells that HMPI took the messages.
cat >"$work/ring.c" <<'END'
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int rank, ranks, left = -1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % ranks, 7, &left, 1, MPI_INT,
               (rank + ranks - 1) % ranks, 7, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  if (left == (rank + ranks - 1) % ranks) printf("rank %d: well\n", rank);
  MPI_Finalize();
  return 0;
}
END
# This program passes the buffer itself, which only HMPI can.
cat >"$work/give.c" <<'END'
#include <hmpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int rank;
  void* number = NULL;
  HMPI_Init(&argc, &argv);
  HMPI_Comm_rank(HMPI_COMM_WORLD, &rank);
  if (rank == 0) {
    HMPI_Request request;
    OPI_Alloc(&number, sizeof(int));
    *(int*)number = 42;
    OPI_Give(&number, 1, MPI_INT, 1, 0, HMPI_COMM_WORLD, &request);
    HMPI_Wait(&request, HMPI_STATUS_IGNORE);
    printf("rank 0: well\n");
  } else if (rank == 1) {
    HMPI_Request request;
    OPI_Take(&number, 1, MPI_INT, 0, 0, HMPI_COMM_WORLD, &request);
    HMPI_Wait(&request, HMPI_STATUS_IGNORE);
    if (*(int*)number == 42) printf("rank 1: well\n");
    OPI_Free(&number);
  }
  HMPI_Finalize();
  return 0;
}
END

# Two ranks say that all is well, and HMPI has counted messages inside the host.
run() { # run <what> <command...>
  what=$1
  shift
  HMPI_STATS=on "$@" >"$work/out" 2>"$work/err" || true
  if [ "$(grep -c ': well$' "$work/out")" != 2 ] || ! grep -q HMPI "$work/err"; then
    cat "$work/out" "$work/err" >&2
    fail "$what: not two ranks by HMPI"
  fi
}

for mpi; do
  launch="mpiexec.$mpi -np 2"
  [ "$mpi" != openmpi ] || launch="$launch --oversubscribe"
  "mpicc.$mpi" "$work/ring.c" -o "$work/ring_$mpi"
  # shellcheck disable=SC2086 # the launcher is words
  run "hmpirun, $mpi" "$prefix/bin/hmpirun" $launch "$work/ring_$mpi"

  "$prefix/bin/hmpicc" --mpi="$mpi" "$work/give.c" -o "$work/wrapped_$mpi"
  # shellcheck disable=SC2086
  run "hmpicc, $mpi" $launch "$work/wrapped_$mpi"

  # shellcheck disable=SC2046 # the flags are words
  cc "$work/give.c" -o "$work/pc_$mpi" \
    $(pkg-config --cflags --libs "hmpi-$mpi") "-Wl,-rpath,$libdir"
  # shellcheck disable=SC2086
  run "pkg-config, $mpi" $launch "$work/pc_$mpi"

  mkdir -p "$work/project_$mpi"
  cat >"$work/project_$mpi/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.20)
project(give C)
find_package(MPI REQUIRED)
find_package(HMPI REQUIRED)
add_executable(give ../give.c)
target_link_libraries(give PRIVATE HMPI::hmpi)
END
  "$cmake" -S "$work/project_$mpi" -B "$work/build_$mpi" \
    -DCMAKE_PREFIX_PATH="$prefix" -DMPI_C_COMPILER="mpicc.$mpi" >"$work/cmake.log"
  "$cmake" --build "$work/build_$mpi" >"$work/build.log"
  # shellcheck disable=SC2086
  run "find_package, $mpi" $launch "$work/build_$mpi/give"
done

# shellcheck disable=SC1091 # it was installed
. "$prefix/share/bash-completion/completions/hmpirun"
completes() { # completes <expected first replies> <word...>: the last word is completed
  expected=$1
  shift
  COMP_WORDS=(hmpirun "$@") COMP_CWORD=$# COMPREPLY=()
  _hmpirun
  [ "${COMPREPLY[*]}" = "$expected" ] ||
    fail "completion of '$*': expected '$expected', found '${COMPREPLY[*]}'"
}
cd "$source_dir"
completes "--verbose --version" --ver
completes "openmpi mpich" --mpi =
completes "mpich" --mpi = mpic
completes "mapfile" mapfil
completes "CHANGELOG.md" -v mpirun CHANGE
completes "CHANGELOG.md" --mpi = mpich mpirun -np 2 CHANGE
