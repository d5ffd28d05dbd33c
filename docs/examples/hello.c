/* Every rank greets its neighbour, and counts itself on rank 0. */
#include <inttypes.h>
#include <stdio.h>

#include <acp.h>

int main(int argc, char** argv) {
  if (acp_init(&argc, &argv) != 0) return 1;
  const int next = (acp_rank() + 1) % acp_procs();
  const acp_ga_t mine = acp_query_starter_ga(acp_rank());
  char* memory = acp_query_address(mine); /* starter memory: 10,240 zeros */

  snprintf(memory + 64, 64, "hello from rank %d", acp_rank());
  acp_copy(acp_query_starter_ga(next) + 128, mine + 64, 64, ACP_HANDLE_NULL);
  acp_add8(mine + 8, acp_query_starter_ga(0), 1, ACP_HANDLE_NULL);
  acp_complete(ACP_HANDLE_ALL); /* my copy and my addition are done ... */
  if (acp_errno != 0) acp_abort("cannot greet"); /* ... or one has failed ... */
  if (acp_sync() != 0) return 1; /* ... and every rank is here */

  printf("rank %d got: %s\n", acp_rank(), memory + 128);
  const uint64_t count = *(uint64_t*)(void*)memory;
  if (acp_rank() == 0) printf("%" PRIu64 " ranks were here\n", count);
  return acp_finalize();
}
