/* Heat in a rod, by MPI: the program that docs/tutorial/stencil_from_mpi.md
 * ports to ACP. The left end of the rod is hot, and the right end cold. */
#include <inttypes.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#define POINTS 240
#define STEPS 500
#define HOT 100.0

/* Point 0, and the one behind the last, are the halo: copies of the neighbours'
 * points, or an end of the rod. A step reads one rod and writes the other. */
static double rod[2][POINTS + 2];

/* Rank r has the points first_point(r) .. first_point(r + 1) - 1. */
static int first_point(int rank, int procs) {
  return POINTS * rank / procs;
}

static void compute_step(double* to, const double* from, int count) {
  for (int i = 1; i <= count; ++i) {
    to[i] = from[i] + 0.25 * (from[i - 1] - 2.0 * from[i] + from[i + 1]);
  }
}

/* A number of a point's bits and place. Their sum does not depend on the order
 * of the points. */
static uint64_t hash_of(int point, double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  bits = (bits ^ (uint64_t)point) * UINT64_C(0x9e3779b97f4a7c15);
  return bits ^ bits >> 32;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, procs;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &procs);
  const int first = first_point(rank, procs);
  const int count = first_point(rank + 1, procs) - first;
  const int left = rank > 0 ? rank - 1 : MPI_PROC_NULL;
  const int right = rank + 1 < procs ? rank + 1 : MPI_PROC_NULL;
  if (rank == 0) rod[0][0] = rod[1][0] = HOT;

  for (int step = 0; step < STEPS; ++step) {
    double* from = rod[step % 2];
    MPI_Sendrecv(&from[1], 1, MPI_DOUBLE, left, 0, &from[count + 1], 1,
                 MPI_DOUBLE, right, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(&from[count], 1, MPI_DOUBLE, right, 1, &from[0], 1, MPI_DOUBLE,
                 left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    compute_step(rod[1 - step % 2], from, count);
  }

  uint64_t part = 0, sum = 0;
  for (int i = 1; i <= count; ++i) {
    part += hash_of(first + i, rod[STEPS % 2][i]);
  }
  MPI_Reduce(&part, &sum, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    printf("%d points, %d steps: checksum %016" PRIx64 "\n", POINTS, STEPS,
           sum);
  }
  MPI_Finalize();
  return 0;
}
