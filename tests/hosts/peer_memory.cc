// Measures the memory of a peer. Rank 0 puts a word to each rank of the other
// hosts, one after the other. So one datagram is under way at a time. Its heap
// may grow by kMostBytes for each. The argument is the number of ranks of a
// host. For crowd.sh, which starts the ranks.
#include <malloc.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "acp.h"

namespace {

/// The endpoint of UDP (512 bytes), the engine's queue, and their tables.
constexpr std::size_t kMostBytes = 768;

}  // namespace

int main(int argc, char** argv) {
  if (acp_init(&argc, &argv) != 0) return 1;
  const int first_remote = argc > 1 ? std::stoi(argv[1]) : 1;
  const acp_ga_t own = acp_query_starter_ga(acp_rank());
  // The first barrier makes the peers that barriers have.
  acp_sync();
  if (acp_rank() == 0) {
    const std::size_t before = mallinfo2().uordblks;
    for (int rank = first_remote; rank < acp_procs(); ++rank) {
      acp_copy(acp_query_starter_ga(rank) + 8, own, 8, ACP_HANDLE_NULL);
      acp_complete(ACP_HANDLE_ALL);
    }
    const auto peers = static_cast<std::size_t>(acp_procs() - first_remote);
    const std::size_t each = (mallinfo2().uordblks - before) / peers;
    std::printf("%zu peers: %zu bytes each\n", peers, each);
    if (each > kMostBytes) acp_abort("a peer costs too much memory");
  }
  acp_sync();
  return acp_finalize() == 0 ? 0 : 1;
}
