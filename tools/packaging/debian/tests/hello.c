/* Each rank writes its number to the next one, and checks the number that came.
 */
#include <stdio.h>

#include <acp.h>

int main(int argc, char** argv) {
  if (acp_init(&argc, &argv) != 0) return 1;
  const int next = (acp_rank() + 1) % acp_procs();
  const int before = (acp_rank() + acp_procs() - 1) % acp_procs();
  const acp_ga_t mine = acp_query_starter_ga(acp_rank());
  int* memory = acp_query_address(mine);
  memory[0] = acp_rank();
  acp_copy(acp_query_starter_ga(next) + 64, mine, sizeof(int), ACP_HANDLE_NULL);
  acp_complete(ACP_HANDLE_ALL);
  if (acp_errno != 0 || acp_sync() != 0) return 1;
  const int got = memory[16];
  if (got != before) acp_abort("a wrong number");
  printf("hello from rank %d of %d\n", acp_rank(), acp_procs());
  return acp_finalize();
}
