// MPI_Init, MPI_Init_thread, MPI_Query_thread and MPI_Finalize.
#include <algorithm>
#include <cstdlib>

#include "hmpi/api.h"

namespace hmpi {

namespace {

/// The level of threads that the program has been told of, at most. Written
/// before the program's threads may call MPI.
int g_highest_level = MPI_THREAD_MULTIPLE;

long number_of(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? 0 : std::strtol(text, nullptr, 10);
}

/// Whether the launcher tells of processes on other hosts: Open MPI, MPICH and
/// Slurm.
bool has_other_hosts() {
  return number_of("OMPI_COMM_WORLD_SIZE") >
             number_of("OMPI_COMM_WORLD_LOCAL_SIZE") ||
         (std::getenv("MPI_LOCALNRANKS") != nullptr &&
          number_of("PMI_SIZE") > number_of("MPI_LOCALNRANKS")) ||
         number_of("SLURM_STEP_NUM_NODES") > 1;
}

/// Begins the MPI below. On several hosts the library's thread has to call it,
/// too, so it gets the highest level of threads. The program is told of the
/// level that it wants.
int begin(int* argc, char*** argv, int required, int& provided) {
  const int wanted = has_other_hosts() ? MPI_THREAD_MULTIPLE : required;
  const int code = below.Init_thread(argc, argv, wanted, &provided);
  const bool has_threads_below = provided == MPI_THREAD_MULTIPLE;
  if (wanted != required) {
    g_highest_level = required;
    provided = std::min(provided, required);
  }
  if (code == MPI_SUCCESS) {
    begin_job(provided == MPI_THREAD_MULTIPLE, has_threads_below);
  }
  return code;
}

}  // namespace

HMPI_FUNCTION(Init, (int* argc, char*** argv)) {
  require_one_mpi();
  int provided = MPI_THREAD_SINGLE;
  if (has_other_hosts()) {
    return begin(argc, argv, MPI_THREAD_SINGLE, provided);
  }
  const int code = below.Init(argc, argv);
  if (code == MPI_SUCCESS) {
    begin_job(false, false);
  }
  return code;
}

HMPI_FUNCTION(Init_thread,
              (int* argc, char*** argv, int required, int* provided)) {
  require_one_mpi();
  return begin(argc, argv, required, *provided);
}

HMPI_FUNCTION(Query_thread, (int* provided)) {
  const int code = below.Query_thread(provided);
  if (code == MPI_SUCCESS) {
    *provided = std::min(*provided, g_highest_level);
  }
  return code;
}

HMPI_FUNCTION(Finalize, (void)) {
  end_job_of_world();
  return below.Finalize();
}

}  // namespace hmpi
