#!/bin/sh
# Tests the flags that hmpicc, hmpic++ and hmpifort print, and their errors. Programs load
# HMPI's library in front of the MPI library. This library only tells that it was loaded.
#
#   hmpicc_test.sh <folder of hmpicc> <scratch folder> <C compiler>
set -eu
bin=$1 work=$2 cc=$3
rm -rf "$work"
mkdir -p "$work/lib" "$work/bin" "$work/none"
cd "$work"
work=$(pwd)
unset LD_PRELOAD HMPI_MPI
HMPI_LIBRARY_DIR=$work/lib
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export HMPI_LIBRARY_DIR OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM

cat >loaded.c <<'END'
#include <stdio.h>
__attribute__((constructor)) static void tell(void) { puts("loaded"); fflush(stdout); }
END
cat >rank.c <<'END'
#include <mpi.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  return MPI_Finalize();
}
END
cp rank.c rank.cc
cat >rank.f90 <<'END'
program rank
  use mpi
  integer :: error
  call MPI_Init(error)
  call MPI_Finalize(error)
end program rank
END

fail() {
  echo "FAILED: $*" >&2
  exit 1
}
has() { # has <text> <words>
  case " $2 " in
  *" $1 "*) ;;
  *) fail "no '$1' in: $2" ;;
  esac
}
has_not() { # has_not <text> <words>
  case $2 in *"$1"*) fail "'$1' is in: $2" ;; esac
}
fails_with() { # fails_with <text> <command>...
  text=$1
  shift
  ! "$@" >output 2>&1 || fail "$* succeeds"
  grep -qF -- "$text" output || fail "$*: expected '$text': $(cat output)"
}

# Compiles with a wrapper, and starts the program by itself if the MPI library can.
links_in_front() { # links_in_front <wrapper> <source>
  "$bin/$1" --mpi=$mpi "$2" -Wl,--as-needed -o rank
  needed=$(objdump -p rank | awk '$1 == "NEEDED" && /mpi/ { print $2 }' | xargs)
  case $needed in
  libhmpi_$mpi.so\ *libmpi*) ;;
  *) fail "$1 links $needed" ;;
  esac
  timeout 60 ./rank >output 2>errors || fail "$1: $(cat errors)"
  grep -qx loaded output || fail "$1: the program does not load libhmpi_$mpi.so"
}

fails_with 'must be openmpi or mpich' "$bin/hmpicc" --mpi=lam rank.c
fails_with 'HMPI_MPI=lam' env HMPI_MPI=lam "$bin/hmpicc" rank.c
fails_with 'Leave -static out' "$bin/hmpicc" -static rank.c
found=
for mpi in openmpi mpich; do
  # Debian installs the compiler wrapper without the headers as well.
  mpicc.$mpi -fsyntax-only rank.c 2>errors || continue
  found="$found${found:+, }$mpi"
  $cc -shared -fPIC loaded.c -Wl,-soname,libhmpi_$mpi.so -o lib/libhmpi_$mpi.so

  words=$("$bin/hmpicc" --mpi=$mpi --showme rank.c -o 'rank')
  has rank.c "$words"
  has "-L$work/lib" "$words"
  has "-Wl,-rpath,$work/lib" "$words"
  has -lhmpi_$mpi "$words"
  test "$words" = "$(HMPI_MPI=$mpi "$bin/hmpicc" -show rank.c -o rank)" ||
    fail 'HMPI_MPI selects another library than --mpi'
  words=$("$bin/hmpicc" --mpi=$mpi --showme -c rank.c)
  has_not hmpi_$mpi "$words"
  include=$(echo "$words" | tr ' ' '\n' | grep '/include$' | head -n 1)
  has "$include" "$("$bin/hmpicc" --mpi=$mpi --showme:compile)"
  has_not -lhmpi "$("$bin/hmpicc" --mpi=$mpi --showme:compile)"
  words=$("$bin/hmpicc" --mpi=$mpi --showme:link)
  has -lhmpi_$mpi "$words"
  has_not -I "$words"
  "$bin/hmpicc" --mpi=$mpi --help | grep -q -e '--showme:link' || fail 'no --help'
  "$bin/hmpicc" --mpi=$mpi --version >output || fail 'no --version'

  links_in_front hmpicc rank.c
  ! command -v mpicxx.$mpi >/dev/null || links_in_front hmpic++ rank.cc
  if command -v mpifort.$mpi >/dev/null && mpifort.$mpi -fsyntax-only rank.f90 2>errors; then
    links_in_front hmpifort rank.f90
  fi
  # shellcheck disable=SC2046 # the flags are words
  $cc $("$bin/hmpicc" --mpi=$mpi --showme:compile) rank.c -o rank \
    $("$bin/hmpicc" --mpi=$mpi --showme:link)

  # Plain mpicc selects the library, through links.
  ln -sf "$(command -v mpicc.$mpi)" bin/mpicc
  has -lhmpi_$mpi "$(PATH=$work/bin:$PATH "$bin/hmpicc" --showme rank.c)"
  fails_with "libhmpi_$mpi.so is not in $work/none" \
    env HMPI_LIBRARY_DIR="$work/none" "$bin/hmpicc" --mpi=$mpi rank.c
done
test -n "$found" || { echo 'neither mpicc.openmpi nor mpicc.mpich is installed' && exit 77; }
echo "compiled with $found"
