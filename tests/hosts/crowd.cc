// Each rank puts a word to each of eight other ranks, which a seed chooses, and
// adds one to a counter of each. After a barrier every rank looks whether it
// has all words that it should have, and no other. For jobs with more ranks
// than cores: the tests of hosts start it.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>

#include "acp.h"

namespace {

constexpr int kPeers = 8;

/// The ranks to which `from` puts. Equal on all ranks.
std::array<int, kPeers> peers_of(int from, int ranks) {
  std::minstd_rand random(static_cast<std::uint32_t>(from) + 1);
  random.discard(8);
  std::array<int, kPeers> peers{};
  std::generate(peers.begin(), peers.end(), [&] {
    return static_cast<int>(random() % static_cast<std::uint32_t>(ranks));
  });
  return peers;
}

/// Starter memory: a counter, a word to put, and a word for each rank.
struct Layout {
  static constexpr std::size_t kCounter = 0;
  static constexpr std::size_t kOwn = 8;

  static std::size_t of(int from) {
    return 16 + 8 * static_cast<std::size_t>(from);
  }
};

}  // namespace

/// A rank leaves the words of ranks that do not put to it as they were, 0. So a
/// message that came to a wrong rank shows, as well as one that was lost or
/// came twice.
int main(int argc, char** argv) {
  if (acp_init(&argc, &argv) != 0) return 1;
  const int me = acp_rank();
  const int ranks = acp_procs();
  const acp_ga_t own = acp_query_starter_ga(me);
  auto* memory = static_cast<std::byte*>(acp_query_address(own));
  const auto load = [&](std::size_t at) {
    std::uint64_t word = 0;
    std::memcpy(&word, memory + at, sizeof word);
    return word;
  };
  const std::uint64_t mine = static_cast<std::uint64_t>(me) + 1;
  std::memcpy(memory + Layout::kOwn, &mine, sizeof mine);
  for (const int peer : peers_of(me, ranks)) {
    const acp_ga_t to = acp_query_starter_ga(peer);
    acp_copy(to + Layout::of(me), own + Layout::kOwn, 8, ACP_HANDLE_NULL);
    acp_add8(own + Layout::of(ranks), to + Layout::kCounter, 1,
             ACP_HANDLE_NULL);
  }
  acp_complete(ACP_HANDLE_ALL);
  acp_sync();
  std::uint64_t expected = 0;
  bool is_exact = true;
  for (int from = 0; from < ranks; ++from) {
    const auto peers = peers_of(from, ranks);
    const auto puts = std::count(peers.begin(), peers.end(), me);
    expected += static_cast<std::uint64_t>(puts);
    is_exact &= load(Layout::of(from)) ==
                (puts == 0 ? 0 : static_cast<std::uint64_t>(from) + 1);
  }
  is_exact &= load(Layout::kCounter) == expected;
  if (!is_exact) {
    std::printf("rank %d: a word is wrong, or the counter: %llu of %llu\n", me,
                static_cast<unsigned long long>(load(Layout::kCounter)),
                static_cast<unsigned long long>(expected));
    acp_abort("memory differs");
  }
  acp_sync();
  if (me == 0) std::printf("%d ranks: all words are exact\n", ranks);
  return acp_finalize() == 0 ? 0 : 1;
}
