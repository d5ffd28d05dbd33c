/* A user's program: each rank adds 1 to a word on rank 0. */
#include <inttypes.h>
#include <stdio.h>

#include <acp.h>
#include <acp/extension.h>

int main(int argc, char** argv) {
  if (acp_init(&argc, &argv) != 0) {
    return 1;
  }
  const acp_ga_t word = acp_query_starter_ga(0);
  const acp_ga_t old = acp_query_starter_ga(acp_rank()) + 8;
  acp_complete(acp_add8(old, word, 1, ACP_HANDLE_NULL));
  if (acp_sync() != 0) {
    return 1;
  }
  if (acp_rank() == 0) {
    const uint64_t* count = acp_query_address(word);
    printf("%s: %" PRIu64 " ranks\n", acpx_version(), *count);
  }
  return acp_finalize() == 0 ? 0 : 1;
}
