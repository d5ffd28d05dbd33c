// MPI_Init, MPI_Init_thread and MPI_Finalize.
#include "hmpi/api.h"

namespace hmpi {

HMPI_FUNCTION(Init, (int* argc, char*** argv)) {
  const int code = below.Init(argc, argv);
  if (code == MPI_SUCCESS) {
    begin_job(false);
  }
  return code;
}

HMPI_FUNCTION(Init_thread,
              (int* argc, char*** argv, int required, int* provided)) {
  const int code = below.Init_thread(argc, argv, required, provided);
  if (code == MPI_SUCCESS) {
    begin_job(*provided == MPI_THREAD_MULTIPLE);
  }
  return code;
}

HMPI_FUNCTION(Finalize, (void)) {
  end_job_of_world();
  return below.Finalize();
}

}  // namespace hmpi
