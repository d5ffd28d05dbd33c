/* Each rank appends a record to one vector, which is on the last rank.
 * docs/tutorial/vector.md explains it. */
#include <stdio.h>

#include <acp.h>
#include <acp/extension.h> /* the functions acpx_... */

typedef struct {
  int rank;
  int square;
} record_t;

int main(int argc, char** argv) {
  if (acp_init(&argc, &argv) != 0) return 1;
  const int rank = acp_rank();
  const acp_ga_t mine = acp_query_starter_ga(rank);
  record_t* memory = acp_query_address(mine); /* room for 1,280 records */

  acp_vector_t results = {0};
  if (rank == 0) {
    results = acp_create_vector(0, acp_procs() - 1); /* on the last rank */
    acpx_publish("results", &results, sizeof results);
  }
  acpx_lookup("results", &results, sizeof results, NULL, -1); /* wait for it */

  memory[0] = (record_t){rank, rank * rank};
  acp_errno = 0;
  acp_push_back_vector(results, mine, sizeof(record_t));
  if (acp_errno != 0) acp_abort("cannot push");
  acp_sync(); /* all records are there */

  if (rank == 0) {
    size_t bytes = acp_size_vector(results);
    acp_complete(
        acp_copy(mine, acp_at_vector(results, 0), bytes, ACP_HANDLE_NULL));
    int sum = 0;
    for (size_t i = 0; i < bytes / sizeof(record_t); ++i) {
      sum += memory[i].square;
    }
    printf("%zu records, their squares add up to %d\n",
           bytes / sizeof(record_t), sum);
  }
  return acp_finalize();
}
