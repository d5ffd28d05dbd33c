// Finds the functions of the MPI below, which stands behind this library in the
// order in which names are looked up.
#include "hmpi/below.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace hmpi {

Below below;

namespace {

template <typename Function>
void find(Function& function, const char* name) {
  void* found = ::dlsym(RTLD_NEXT, name);
  if (found == nullptr) {
    (void)std::fprintf(stderr,
                       "HMPI: error: %s is not behind this library: name it "
                       "before the MPI library when you link, and take the one "
                       "that was built for this MPI\n",
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

#ifdef OPEN_MPI
constexpr const char* kMine = "Open MPI";
constexpr const char* kOther = "MPICH";
constexpr std::string_view kPartOfOther = "libmpich.so";
constexpr const char* kOption = "--mpi=mpich";
#else
constexpr const char* kMine = "MPICH";
constexpr const char* kOther = "Open MPI";
constexpr std::string_view kPartOfOther = "libopen-pal.so";
constexpr const char* kOption = "--mpi=openmpi";
#endif

/// The loader calls it for each loaded library, until it returns 1.
int is_of_other(dl_phdr_info* info, std::size_t /*bytes*/, void* found) {
  std::string_view name = info->dlpi_name;
  name.remove_prefix(name.rfind('/') + 1);
  if (!name.starts_with(kPartOfOther)) {
    return 0;
  }
  *static_cast<const char**>(found) = info->dlpi_name;
  return 1;
}

}  // namespace

void require_one_mpi() {
  const char* found = nullptr;
  if (::dl_iterate_phdr(is_of_other, static_cast<void*>(&found)) == 0) {
    return;
  }
  (void)std::fprintf(stderr,
                     "HMPI: error: this is HMPI for %s, and the process has "
                     "loaded %s of %s; start it by hmpirun %s, and by the "
                     "launcher of that MPI\n",
                     kMine, found, kOther, kOption);
  std::_Exit(1);
}

}  // namespace hmpi
