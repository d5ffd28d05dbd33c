/* A rank that writes a buffer after it has given it, for HMPI_DEBUG=on. */
#include <string.h>

#include "hmpi.h"

int main(int argc, char** argv) {
  char* buffer = NULL;
  char* alias = NULL;
  int rank = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    OPI_Alloc((void**)&buffer, 80);
    memset(buffer, 1, 80);
    alias = buffer;
    OPI_Give_blocking((void**)&buffer, 80, MPI_BYTE, 1, 7, MPI_COMM_WORLD);
    alias[79] = 2;
  } else {
    OPI_Take_blocking((void**)&buffer, 80, MPI_BYTE, 0, 7, MPI_COMM_WORLD,
                      MPI_STATUS_IGNORE);
  }
  MPI_Finalize();
  return 0;
}
