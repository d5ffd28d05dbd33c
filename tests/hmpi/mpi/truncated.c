/* A receive with too little room ends the job, and a line says the sizes. */
#include <mpi.h>

int main(int argc, char** argv) {
  char buffer[100] = {0};
  int rank = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    MPI_Send(buffer, 100, MPI_BYTE, 1, 7, MPI_COMM_WORLD);
  } else {
    MPI_Recv(buffer, 60, MPI_BYTE, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Finalize();
  return 0;
}
