#!/bin/sh
# Tests tools/lint/check_mpi_functions.sh with headers, tables and libraries of its own.
#
#   mpi_functions_selftest.sh <check_mpi_functions.sh>
set -eu
check=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/both/openmpi" "$work/both/mpich" "$work/one/openmpi" "$work/none" \
  "$work/build/src/hmpi"

cat >"$work/both/openmpi/mpi.h" <<'END'
/* MPI_Comment(int) is in a comment; */
#define MPI_Macro(a) MPI_Other( \
  a);
typedef int (MPI_Type_of_function)(int);
typedef void MPI_Other_type(int *, ...);
int MPI_DUP_FN(int);
OMPI_DECLSPEC  int MPI_Send(const void *buf,
                            int count) __removed__(MPI_Send, "MPI_Older(x)");
OMPI_DECLSPEC  int PMPI_Send(const void *buf, int count);
OMPI_DECLSPEC  int MPI_Bcast(void *buf, int count);
END
cp "$work/both/openmpi/mpi.h" "$work/one/openmpi"
echo '#include "mpi_proto.h"' >"$work/both/mpich/mpi.h"
printf '%s\n' 'int MPI_Send(const void *buf, int count) MPICH_API_PUBLIC;' \
  'int MPI_Send_c(const void *buf, long count)' \
  '    MPICH_ATTR_POINTER(1,3) MPICH_API_PUBLIC;' >"$work/both/mpich/mpi_proto.h"

table() { # table <line>...
  printf '# A table.\n#   collective  All members call it.\n\n' >"$work/table"
  printf '%s\n' "$@" >>"$work/table"
}
expect() { # expect 0|1|77 <headers> <text that the output has>
  status=0
  "$check" "$work/build" "$work/table" "$work/$2" >"$work/output" 2>&1 || status=$?
  if test $status != "$1" || ! grep -qF -- "$3" "$work/output"; then
    echo "expected $1 with '$3', found $status:" && cat "$work/table" "$work/output"
    exit 1
  fi
}
good='MPI_Bcast passes collective'

table "$good" 'MPI_Send wrapped' 'MPI_Send_c wrapped'
expect 0 both '3 functions, compared with 2 mpi.h'
expect 0 one '3 functions, compared with 1 mpi.h'
expect 77 none 'no mpi.h is installed'
table "$good" 'MPI_Send_c wrapped'
expect 1 both 'no line for this function'
expect 1 one MPI_Send
table "$good" 'MPI_Recv wrapped' 'MPI_Send wrapped' 'MPI_Send_c wrapped'
expect 1 both 'no mpi.h declares MPI_Recv'
expect 0 one '4 functions'
table "$good" 'MPI_Send wrapped' 'MPI_Send wrapped' 'MPI_Send_c wrapped'
expect 1 both 'a second line: MPI_Send'
table 'MPI_Send wrapped' "$good" 'MPI_Send_c wrapped'
expect 1 both 'not sorted'
table "$good" 'MPI_Send wraps' 'MPI_Send_c wrapped'
expect 1 both 'MPI_Send: the verdict is'
table "$good" 'MPI_Send wrapped collective' 'MPI_Send_c wrapped'
expect 1 both 'needs no reason'
table 'MPI_Bcast passes' 'MPI_Send wrapped' 'MPI_Send_c wrapped'
expect 1 both 'needs one word as a reason'
table 'MPI_Bcast passes file' 'MPI_Send wrapped' 'MPI_Send_c wrapped'
expect 1 both 'nothing explains reason file'
expect 1 none 'nothing explains reason file'

command -v cc >/dev/null || { echo 'no cc: libraries are not tested' && exit 0; }
library() { # library openmpi|mpich <function>...
  file=$work/build/src/hmpi/libhmpi_$1.so
  shift
  for name; do
    echo "int $name(void); int $name(void) { return 0; }"
  done | cc -shared -fPIC -x c -o "$file" -
}
table "$good" 'MPI_Send wrapped' 'MPI_Send_c wrapped'
library openmpi MPI_Send PMPI_Send
library mpich MPI_Send PMPI_Send MPI_Send_c PMPI_Send_c OPI_Give
expect 0 both 'libhmpi_mpich.so: looked at'
library mpich MPI_Send PMPI_Send MPI_Send_c
expect 1 both 'does not define PMPI_Send_c, which is wrapped'
rm "$work/build/src/hmpi/libhmpi_mpich.so"
library openmpi MPI_Send PMPI_Send PMPI_Bcast
expect 1 both 'defines PMPI_Bcast, which passes'
