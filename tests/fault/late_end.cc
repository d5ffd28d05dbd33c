// A program whose last rank returns from main without acp_finalize, and whose
// static objects take some time to be destroyed. Rank 0 goes on adding to a
// counter of the last rank. The library's threads there must still answer, and
// must not touch an object that was destroyed. death_test.cc runs it.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>

#include <acp.h>

namespace {

constexpr std::uint64_t kAdditionsAfterMain = 2000;

/// The counter of the last rank, once it has returned from main.
std::atomic<std::atomic<std::uint64_t>*> g_counter{nullptr};

/// Made before the static objects of acp_init, and so destroyed after them.
struct Last {
  Last() = default;
  Last(const Last&) = delete;
  Last& operator=(const Last&) = delete;

  ~Last() {
    const auto* counter = g_counter.load();
    if (counter == nullptr) {
      return;
    }
    const auto limit =
        std::chrono::steady_clock::now() + std::chrono::seconds(20);
    const std::uint64_t begin = *counter;
    while (*counter - begin < kAdditionsAfterMain) {
      if (std::chrono::steady_clock::now() > limit) {
        std::fputs("the additions have stopped\n", stderr);
        return;
      }
    }
    std::fputs("the last rank was added to after main\n", stderr);
  }
};

Last g_last;

}  // namespace

int main(int argc, char** argv) {
  if (acp_init(&argc, &argv) != 0) {
    return 1;
  }
  const int last = acp_procs() - 1;
  const acp_ga_t counter = acp_query_starter_ga(last);
  acp_sync();
  if (acp_rank() == last) {
    g_counter =
        static_cast<std::atomic<std::uint64_t>*>(acp_query_address(counter));
    return 0;
  }
  const acp_ga_t old = acp_query_starter_ga(acp_rank()) + 64;
  while (acp_errno == ACPX_OK) {
    acp_complete(acp_add8(old, counter, 1, ACP_HANDLE_NULL));
  }
  return 1;
}
