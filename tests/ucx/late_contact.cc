// A job whose ranks reach each other late: `late_contact FILE`. Each rank
// prints "ready" after acp_init, waits until FILE exists, and then puts a word
// to each other rank. Between hosts, a rank that is no leader of its host
// reaches no other host before that. stopped_agent.sh starts it.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <thread>

#include "acp.h"

int main(int argc, char** argv) {
  if (argc < 2 || acp_init(&argc, &argv) != 0) return 1;
  std::printf("ready\n");
  std::fflush(stdout);
  const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (access(argv[1], F_OK) != 0) {
    if (std::chrono::steady_clock::now() > limit) return 2;
    std::this_thread::yield();
  }
  const acp_ga_t mine = acp_query_starter_ga(acp_rank());
  for (int rank = 0; rank < acp_procs(); ++rank) {
    const acp_ga_t to = acp_query_starter_ga(rank) + 8;
    acp_complete(acp_copy(to, mine, 8, ACP_HANDLE_NULL));
  }
  return acp_finalize();
}
