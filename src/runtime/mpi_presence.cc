// Looks for MPI in the process. Called by HostWatch and PmiClient: when a rank
// joins or leaves the job, before it asks for an address card, and when its
// connection to the launcher closes. It may not link MPI: a program without MPI
// has none.
//
// MPI_Initialized and MPI_Finalized take an int pointer with every MPI library,
// and may be called at any time, so no header of MPI is needed.
#include "runtime/mpi_presence.h"

#include <dlfcn.h>

#include <cstdlib>

namespace acp::runtime {

namespace {

using Query = int (*)(int* flag);

bool ask(const char* function) noexcept {
  const auto query = reinterpret_cast<Query>(::dlsym(RTLD_DEFAULT, function));
  int flag = 0;
  return query != nullptr && query(&flag) == 0 && flag != 0;
}

}  // namespace

MpiPresence mpi_presence() noexcept {
  if (::dlsym(RTLD_DEFAULT, "MPI_Initialized") == nullptr) {
    return MpiPresence::kAbsent;
  }
  if (ask("MPI_Finalized")) {
    return MpiPresence::kFinalized;
  }
  return ask("MPI_Initialized") ? MpiPresence::kRunning : MpiPresence::kNotYet;
}

bool is_slurm_beside_mpi() noexcept {
  return std::getenv("SLURM_STEP_ID") != nullptr &&
         mpi_presence() == MpiPresence::kRunning;
}

}  // namespace acp::runtime
