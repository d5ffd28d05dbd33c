/* Reads the field of field_solver out of global memory in each step. Shares the
 * work among its own processes, and checks that no heat is lost. To build:
 *
 *   macpcc field_analysis.c -o field_analysis
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "field.h"

/* Reads the notice of a rank into this rank's starter memory, behind its own.
 */
static struct notice notice_of(int peer) {
  const acp_ga_t mine =
      acp_query_starter_ga(acp_rank()) + sizeof(struct notice);
  acp_complete(acp_copy(mine, acp_query_starter_ga(peer), sizeof(struct notice),
                        ACP_HANDLE_NULL));
  return *(struct notice*)acp_query_address(mine);
}

/* The heat of one solver's cells, which it leaves alone between two syncs. */
static double heat_of(const struct notice* solver,
                      double* cells,
                      acp_ga_t cells_ga) {
  acp_complete(acp_copy(cells_ga, solver->field, solver->cells * sizeof *cells,
                        ACP_HANDLE_NULL));
  double sum = 0;
  for (uint64_t i = 0; i < solver->cells; ++i)
    sum += cells[i];
  return sum;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (acp_init(&argc, &argv) != 0) return 1;
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  struct notice* const own =
      acp_query_address(acp_query_starter_ga(acp_rank()));
  *own = (struct notice){ROLE_ANALYSIS, 0, ACP_GA_NULL};
  sync_all(); /* All notices are there. */

  uint64_t most = 1;
  for (int peer = 0; peer < acp_procs(); ++peer) {
    const struct notice one = notice_of(peer);
    if (one.cells > most) most = one.cells;
  }
  double* const cells = malloc(most * sizeof *cells);
  if (cells == NULL) acp_abort("no memory for the cells");
  const acp_atkey_t key = acp_register_memory(cells, most * sizeof *cells, 0);
  const acp_ga_t cells_ga = acp_query_ga(key, cells);
  double first = 0;
  double total = 0;
  for (int step = 0; step < STEPS; ++step) {
    sync_all(); /* The field of this step is there. */
    double sum = 0;
    for (int peer = rank; peer < acp_procs(); peer += size) {
      const struct notice one = notice_of(peer);
      if (one.role == ROLE_SOLVER) sum += heat_of(&one, cells, cells_ga);
    }
    MPI_Allreduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (step == 0) first = total;
    if (fabs(total - first) > 1e-6 * fabs(first)) acp_abort("heat is lost");
    sync_all(); /* The field has been read. */
  }
  if (rank == 0) printf("analysis: heat %.3f in all %d steps\n", total, STEPS);
  acp_unregister_memory(key);
  free(cells);
  if (acp_finalize() != 0) return 1;
  MPI_Finalize();
  return 0;
}
