/* Heat in a rod, solved by an MPI program. Its field lies in global memory,
 * where the analysis, another MPI program of the same macprun job, reads it:
 *
 *   macpcc field_solver.c -o field_solver
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "field.h"

enum { CELLS = 1000 }; /* Each process has as many. */

/* One explicit step in each cell; the ends of the rod keep their heat. Halos
 * come from the neighbours in this program's own world. */
static void sweep(double* now, double* next, int rank, int size) {
  double left = now[0];
  double right = now[CELLS - 1];
  const int before = rank > 0 ? rank - 1 : MPI_PROC_NULL;
  const int after = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
  MPI_Sendrecv(&now[CELLS - 1], 1, MPI_DOUBLE, after, 0, &left, 1, MPI_DOUBLE,
               before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Sendrecv(&now[0], 1, MPI_DOUBLE, before, 1, &right, 1, MPI_DOUBLE, after,
               1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 0; i < CELLS; ++i) {
    const double l = i > 0 ? now[i - 1] : left;
    const double r = i + 1 < CELLS ? now[i + 1] : right;
    next[i] = now[i] + 0.25 * (l - 2 * now[i] + r);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (acp_init(&argc, &argv) != 0) return 1;
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  double* field = calloc(2 * CELLS, sizeof *field);
  if (field == NULL) acp_abort("no memory for the field");
  double* next = field + CELLS;
  for (int i = 0; i < CELLS; ++i)
    field[i] = (rank * CELLS + i) % 7;

  const acp_atkey_t key = acp_register_memory(field, CELLS * sizeof *field, 0);
  struct notice* const own =
      acp_query_address(acp_query_starter_ga(acp_rank()));
  *own = (struct notice){ROLE_SOLVER, CELLS, acp_query_ga(key, field)};
  sync_all(); /* All notices are there. */
  for (int step = 0; step < STEPS; ++step) {
    for (int i = 0; i < SWEEPS; i += 2) {
      sweep(field, next, rank, size);
      sweep(next, field, rank, size);
    }
    double sum = 0;
    for (int i = 0; i < CELLS; ++i)
      sum += field[i];
    double total = 0;
    MPI_Reduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0 && step == STEPS - 1) printf("solver: heat %.3f\n", total);
    sync_all(); /* The field of this step is there. */
    sync_all(); /* The analysis has read the field. */
  }
  acp_unregister_memory(key);
  if (acp_finalize() != 0) return 1;
  MPI_Finalize();
  free(field);
  return 0;
}
