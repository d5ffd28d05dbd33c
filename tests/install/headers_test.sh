#!/bin/sh
# Every public header compiles alone, as C11 and as C++20, without a warning;
# the headers of scu/ are for C++ only. hmpi.h needs the header of each MPI that is
# installed here.
#
#   headers_test.sh <source tree> <C compiler> <C++ compiler>
set -eu
include_dir=$1/include c=$2 cxx=$3
flags="-Wall -Wextra -Wshadow -Wconversion -Wundef -pedantic -Werror
  -fsyntax-only"

check() { # check <header> <further flag>...
  header=$1
  shift
  # Twice: a header must bear being included again.
  program="#include <$header>
#include <$header>
int unused_$$(void); int unused_$$(void) { return 0; }"
  languages=C++20
  case $header in
  scu/*) ;;
  *)
    languages="C11, C++20"
    # shellcheck disable=SC2086 # the flags are words
    printf '%s\n' "$program" | "$c" -std=c11 $flags -Wstrict-prototypes \
      -I "$include_dir" "$@" -x c -
    ;;
  esac
  # shellcheck disable=SC2086
  printf '%s\n' "$program" | sed 's/(void)/()/g' |
    "$cxx" -std=c++20 $flags -Wold-style-cast -I "$include_dir" "$@" -x c++ -
  echo "$header: $languages"
}

headers=$(cd "$include_dir" && find . -name '*.h' | sed 's|^\./||' | sort)
for header in $headers; do
  test "$header" = hmpi.h || check "$header"
done
for mpi in openmpi mpich; do
  if command -v "mpicc.$mpi" >/dev/null; then
    # shellcheck disable=SC2046 # the flags are words
    check hmpi.h -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX \
      $("mpicc.$mpi" -show | tr ' ' '\n' | sed -n 's/^-I/-isystem/p')
  fi
done
test -n "$headers"

# Both forms of acp_dereference_deque_it in older C.
for standard in c99 gnu99 c11; do
  # shellcheck disable=SC2086
  printf '#include <acp.h>
acp_pair_t f(acp_deque_it_t i, int n); acp_ga_t g(acp_deque_it_t i);
acp_pair_t f(acp_deque_it_t i, int n) {
  return acp_dereference_deque_it(i, n == 0 ? 4 : 8);
}
acp_ga_t g(acp_deque_it_t i) { return acp_dereference_deque_it(i); }\n' |
    "$c" -std=$standard $flags -I "$include_dir" -x c -
done

# Where <unistd.h> was first, sysfunc.h works as well.
# shellcheck disable=SC2086
printf '#include <unistd.h>\n#include <scu/sysfunc.h>\n#include <syncstream>
unsigned int wait_for_all() { return sync(); }\n' |
  "$cxx" -std=c++20 $flags -I "$include_dir" -x c++ -

printf '#include <qmp.hpp>\n#include <qmp.hpp>\n' >"${TMPDIR:-/tmp}/hpp_$$.cc"
trap 'rm -f "${TMPDIR:-/tmp}/hpp_$$.cc"' EXIT
for standard in c++17 c++20; do
  # shellcheck disable=SC2086
  "$cxx" -std=$standard $flags -I "$include_dir" "${TMPDIR:-/tmp}/hpp_$$.cc"
  echo "qmp.hpp: $standard"
done

# tests/cpp has the headers below acp/cpp/, other compilers and what is refused.
# shellcheck disable=SC2086
printf '#include <acp/acp.hpp>\n#include <acp/acp.hpp>\n' |
  "$cxx" -std=c++20 $flags -Wold-style-cast -I "$include_dir" -x c++ -
echo "acp/acp.hpp: c++20"
