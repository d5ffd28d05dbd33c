// Finds the functions of the MPI below, which stands behind this library in the
// order in which names are looked up.
#include "hmpi/below.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace hmpi {

Below below;

namespace {

template <typename Function>
void find(Function& function, const char* name) {
  void* found = ::dlsym(RTLD_NEXT, name);
  if (found == nullptr) {
    (void)std::fprintf(stderr,
                       "HMPI: error: %s is not behind this library: link or "
                       "preload the one that was built for this MPI\n",
                       name);
    std::abort();
  }
  function = reinterpret_cast<Function>(found);
}

/// Before constructors of the program, which may call MPI.
[[gnu::constructor(101)]] void find_all() {
#define HMPI_FIND(name) find(below.name, "PMPI_" #name);
  HMPI_BELOW(HMPI_FIND)
  HMPI_BELOW_4(HMPI_FIND)
#undef HMPI_FIND
}

}  // namespace

}  // namespace hmpi
