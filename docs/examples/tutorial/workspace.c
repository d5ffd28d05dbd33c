/* Each rank writes a number into a workspace, and rank 0 reads all of them at
 * once. docs/tutorial/workspace.md explains it. */
#include <inttypes.h>
#include <stdio.h>

#include <acp.h>

int main(int argc, char** argv) {
  if (acp_init(&argc, &argv) != 0) return 1;
  const size_t rank = (size_t)acp_rank(), procs = (size_t)acp_procs();
  const acp_ga_t mine = acp_query_starter_ga(acp_rank());
  uint64_t* memory = acp_query_address(mine);

  acp_wsd_t ws = acp_create_ws(procs * 8); /* every rank calls this */
  if (ws == ACP_WSD_NULL) acp_abort("no workspace");
  memory[0] = 100 + rank;
  if (acp_write_ws(ws, mine, 8, rank * 8) != 0) acp_abort("cannot write");
  acp_sync();

  if (rank == 0) {
    if (acp_read_ws(ws, mine, procs * 8, 0) != 0) acp_abort("cannot read");
    for (size_t i = 0; i < procs; ++i) {
      printf("%" PRIu64 "\n", memory[i]);
    }
  }
  acp_destroy_ws(ws); /* every rank */
  return acp_finalize();
}
