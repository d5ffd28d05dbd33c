// A job whose ranks reach each other late: `late_contact FILE [HOW]`. Each rank
// prints "ready" after acp_init, waits until FILE exists, and then puts a word
// to each other rank. Between hosts, a rank that is no leader of its host
// reaches no other host before that. With HOW, rank 1 ends the job when it has
// reached half of the ranks: by "abort" or "kill". stopped_daemon.sh and
// fetched_cards.sh start it.
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <string_view>
#include <thread>

#include "acp.h"

namespace {

void end_job(std::string_view how) {
  if (how == "abort") acp_abort("rank 1 gives up");
  if (how == "kill") std::raise(SIGKILL);
}

}  // namespace

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
    if (argc > 2 && acp_rank() == 1 && rank == acp_procs() / 2) {
      end_job(argv[2]);
    }
    const acp_ga_t to = acp_query_starter_ga(rank) + 8;
    acp_complete(acp_copy(to, mine, 8, ACP_HANDLE_NULL));
  }
  return acp_finalize();
}
