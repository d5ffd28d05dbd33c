#!/bin/sh
# Tests how hmpirun changes commands, with launchers that print their words and programs
# that are linked with empty libraries. Then it starts programs of the MPI
# libraries that are installed, with a preloaded library that tells where it was loaded.
#
#   hmpirun_test.sh <hmpirun> <scratch folder> <C compiler>
set -eu
hmpirun=$1 work=$2 cc=$3
rm -rf "$work"
mkdir -p "$work/bin" "$work/lib" "$work/one" "$work/tree/bin" "$work/tree/lib" "$work/no"
cd "$work"
work=$(pwd)
unset LD_PRELOAD HMPI_LIBRARY_DIR SLURM_EXPORT_ENV
PATH=$work/bin:$PATH
case $(LC_ALL=C ldd "$(command -v sh)") in
*libasan* | *libtsan*) echo 'the shell has a sanitizer' && exit 77 ;;
esac

empty_library() { # empty_library <soname> <file>
  echo 'int empty_library;' | $cc -shared -fPIC -Wl,-soname,"$1" -x c -o "$2" -
}
empty_library libmpi.so.40 lib/libmpi.so.40
empty_library libmpich.so.12 lib/libmpich.so.12
empty_library libmpi.so.12 lib/libmpi.so.12
for mpi in openmpi mpich; do
  empty_library libhmpi_$mpi.so lib/libhmpi_$mpi.so
done
cp lib/libhmpi_openmpi.so one
program() { # program <name> [library]
  echo 'const char* mpi = "'"${3-}"'"; int main(void) { return mpi[0] == 1; }' |
    $cc -x c -o "$1" - -x none ${2:+-Wl,--no-as-needed "$work/lib/$2" -Wl,-rpath,"$work/lib"}
}
program ompi_program libmpi.so.40
program mpich_program libmpich.so.12
program abi_program libmpi.so.12
program plain_program
program static_program '' 'calls MPIR_Init_impl'
program bin/in_path libmpi.so.40
printf '#!/bin/sh\n' >script
chmod +x script

# Launchers print their words, and LD_PRELOAD if they have it.
for name in mpirun.openmpi mpiexec.hydra srun macprun mpirun.old mpiexec.own; do
  cat >bin/$name <<'END'
#!/bin/sh
case ${0##*/}:$1 in
*own:--version) echo 'HYDRA build details:' && exit ;;
*old:--version) echo 'LAM 7' && exit ;;
esac
printf '%s' "${LD_PRELOAD:+env=$LD_PRELOAD }${0##*/}"
for word; do printf ' [%s]' "$word"; done
END
  chmod +x bin/$name
done
ln -s mpirun.openmpi bin/mpirun
ln -s mpiexec.hydra bin/mpiexec
HMPI_LIBRARY_DIR=$work/lib
export HMPI_LIBRARY_DIR
ompi=$work/lib/libhmpi_openmpi.so mpich=$work/lib/libhmpi_mpich.so

failures=0
expect() { # expect <output> <word of the command>...
  expected=$1
  shift
  found=$("$hmpirun" "$@" 2>errors) || found="failed: $(cat errors)"
  test "$found" = "$expected" && return
  printf 'hmpirun %s\n  expected %s\n  found    %s\n' "$*" "$expected" "$found"
  failures=$((failures + 1))
}
expect_error() { # expect_error <text> <word of the command>...
  expected=$1
  shift
  if "$hmpirun" "$@" >output 2>errors || ! grep -qF -- "$expected" errors; then
    printf 'hmpirun %s\n  expected the error %s\n  found    %s\n' "$*" "$expected" \
      "$(cat errors output)"
    failures=$((failures + 1))
  fi
}
expect_verbose() { # expect_verbose <text> <word of the command>...
  expected=$1
  shift
  "$hmpirun" -v "$@" >output 2>errors || true
  grep -qF -- "$expected" errors && return
  printf 'hmpirun -v %s\n  expected %s\n  found    %s\n' "$*" "$expected" "$(cat errors)"
  failures=$((failures + 1))
}

# Each launcher has its own option. Words stay as they are.
x="[-x] [LD_PRELOAD=$ompi]"
expect "mpirun $x [-np] [2] [./ompi_program] [a b] []" \
  mpirun -np 2 ./ompi_program 'a b' ''
expect "mpirun $x [in_path]" -- mpirun in_path
expect "mpirun $x [-np] [1] [./ompi_program] [:] $x [-np] [2] [./ompi_program]" \
  mpirun -np 1 ./ompi_program : -np 2 ./ompi_program
expect "mpiexec [-genv] [LD_PRELOAD] [$mpich] [-n] [2] [./mpich_program] [:] [./script]" \
  mpiexec -n 2 ./mpich_program : ./script
expect "mpiexec.own [-genv] [LD_PRELOAD] [$mpich] [./script]" mpiexec.own ./script
expect "srun [--export=ALL,LD_PRELOAD=$mpich] [-n] [2] [./mpich_program]" \
  srun -n 2 ./mpich_program
expect "env=$ompi macprun [-np] [2] [./ompi_program]" macprun -np 2 ./ompi_program
expect "mpirun $x [python] [script.py]" timeout 60 mpirun python script.py
expect "mpirun $x [./script]" mpirun ./script
expect "srun [--export=ALL,LD_PRELOAD=$ompi] [./script]" --mpi=openmpi srun ./script
# A word of the program is no launcher, and the first program with MPI decides.
# shellcheck disable=SC2016 # the script expands them
printf '#!/bin/sh\nprintf "%%s" "$*:$LD_PRELOAD"\n' >script
expect "mpirun x:$ompi" --mpi=openmpi ./script mpirun x
expect "mpirun $x [./plain_program] [./ompi_program] [./mpich_program]" \
  mpirun ./plain_program ./ompi_program ./mpich_program

# A tool in LD_PRELOAD stays in front of the library.
expect "mpirun [-np] [1] [-x] [LD_PRELOAD=a.so:$ompi] [./ompi_program] [:] $x [./script]" \
  mpirun -np 1 -x LD_PRELOAD=a.so ./ompi_program : ./script
expect "mpiexec [-genv] [LD_PRELOAD] [$mpich] [-env] [LD_PRELOAD] [a.so:$mpich] [./script]" \
  mpiexec -env LD_PRELOAD a.so ./script
expect "srun [--export=A,LD_PRELOAD=$ompi] [./ompi_program]" \
  srun --export=A ./ompi_program
expect "srun [--export] [LD_PRELOAD=$ompi] [./ompi_program]" \
  srun --export NONE ./ompi_program
LD_PRELOAD=$work/one/libhmpi_openmpi.so
export LD_PRELOAD
expect "env=$LD_PRELOAD mpirun [-x] [LD_PRELOAD=$LD_PRELOAD:$ompi] [./ompi_program]" \
  mpirun ./ompi_program
unset LD_PRELOAD

expect_verbose "MPI: openmpi, because ./ompi_program is linked with $work/lib/libmpi.so.40" \
  mpirun ./ompi_program
expect_verbose 'MPI: mpich, because mpiexec is the launcher of mpich' mpiexec ./script
expect_verbose "library: $mpich" mpiexec ./script
expect_verbose "command: mpirun -x LD_PRELOAD=$ompi ./ompi_program 'a b'" \
  mpirun ./ompi_program 'a b'
expect_verbose "command: LD_PRELOAD=$ompi ./ompi_program" ./ompi_program
expect_verbose 'mpirun is the launcher of openmpi: each process' mpirun ./mpich_program

expect_error 'looked at ./script (a script), ./plain_program (not linked with MPI). Say' \
  ./script ./plain_program
expect_error 'looked at no executable file. Say it by --mpi=' srun -n 2 missing
expect_error 'static_program has MPI linked statically' mpirun ./static_program
expect_error 'HMPI was built for libmpi.so.40' mpirun ./abi_program
expect_error '--mpi=mpich: ./ompi_program is linked with' --mpi=mpich ./ompi_program
expect_error 'must be openmpi or mpich' --mpi=lam ./ompi_program
expect_error 'unknown option --verbos' --verbos ./ompi_program
expect_error "neither Open MPI's launcher nor MPICH's" mpirun.old ./script
expect_error 'mpirun.missing is not in PATH' mpirun.missing ./script
expect_error 'usage: hmpirun'
HMPI_LIBRARY_DIR=$work/one
expect_error "libhmpi_mpich.so is not in $work/one" ./mpich_program
mkdir 'a folder' && cp lib/libhmpi_openmpi.so 'a folder'
HMPI_LIBRARY_DIR="$work/a folder"
expect_error 'LD_PRELOAD takes no path with' ./ompi_program
"$hmpirun" --help | grep -q 'usage: hmpirun' || failures=$((failures + 1))
"$hmpirun" --version | grep -q '^hmpirun (HMPI) [0-9]' || failures=$((failures + 1))

# An installation knows its library from its own path, through a link as well.
unset HMPI_LIBRARY_DIR
sed "s,^lib_dir=.*,lib_dir='../lib/none'," "$hmpirun" >tree/bin/hmpirun
chmod +x tree/bin/hmpirun
ln -s ../tree/bin/hmpirun no/hmpirun
cp lib/libhmpi_openmpi.so tree/lib
mkdir tree/lib/x86_64-linux-gnu && cp lib/libhmpi_mpich.so tree/lib/x86_64-linux-gnu
hmpirun=$work/no/hmpirun
expect "mpirun [-x] [LD_PRELOAD=$work/tree/lib/libhmpi_openmpi.so] [./ompi_program]" \
  mpirun ./ompi_program
mpich=$work/tree/lib/x86_64-linux-gnu/libhmpi_mpich.so
expect "mpiexec [-genv] [LD_PRELOAD] [$mpich] [./mpich_program]" mpiexec ./mpich_program
hmpirun=$1

# Programs and launchers of the MPI libraries. The preloaded library tells in which
# programs it is: in the ranks, not in the launchers and their helpers.
cat >loaded.c <<'END'
#include <stdio.h>
#include <string.h>
__attribute__((constructor)) static void tell(void) {
  char name[64] = "";
  FILE* file = fopen("/proc/self/comm", "r");
  if (file != NULL && fgets(name, sizeof name, file) != NULL) {
    name[strcspn(name, "\n")] = 0;
    printf("loaded in %s\n", name);
    fflush(stdout);
  }
  if (file != NULL) fclose(file);
}
END
cat >rank.c <<'END'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
  int rank = 0, size = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  printf("rank %d of %d\n", rank, size);
  return MPI_Finalize();
}
END
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
HMPI_LIBRARY_DIR=$work/one
export HMPI_LIBRARY_DIR
$cc -shared -fPIC loaded.c -o one/libhmpi_openmpi.so
cp one/libhmpi_openmpi.so one/libhmpi_mpich.so
PATH=${PATH#*:}

expected_too='^$'
expect_ranks() { # expect_ranks <lines> <word of the command>...
  expected=$1
  shift
  found=$(timeout 60 "$hmpirun" "$@" 2>errors | grep -v "$expected_too" | sort | xargs) ||
    true
  test "$found" = "$expected" && return
  printf 'hmpirun %s\n  expected %s\n  found    %s\n' "$*" "$expected" \
    "$found $(cat errors)"
  failures=$((failures + 1))
}
two='loaded in rank loaded in rank rank 0 of 2 rank 1 of 2'
one='loaded in rank rank 0 of 1'
started=
if mpicc.openmpi rank.c -o rank 2>errors && command -v mpirun.openmpi >/dev/null; then
  started='Open MPI'
  expect_ranks "$two" mpirun.openmpi --oversubscribe -np 2 ./rank
  expect_ranks "$two" mpirun.openmpi --oversubscribe -np 1 ./rank : -np 1 ./rank
  if command -v orterun >/dev/null; then
    expect_ranks "$one" orterun -np 1 ./rank
  fi
  # Without a launcher, MPI_Init starts a daemon, which inherits the environment.
  expected_too='loaded in orted'
  expect_ranks "$one" ./rank
  expected_too='^$'
fi
if mpicc.mpich rank.c -o rank 2>errors && command -v mpiexec.mpich >/dev/null; then
  started="$started${started:+, }MPICH"
  expect_ranks "$two" mpiexec.mpich -n 2 ./rank
  expect_ranks "$two" mpiexec.mpich -n 1 ./rank : -n 1 ./rank
  expect_ranks "$one" ./rank
fi
echo "programs started: ${started:-none, for no MPI library is installed}"
test $failures = 0 || { echo "FAILED: $failures" && exit 1; }
