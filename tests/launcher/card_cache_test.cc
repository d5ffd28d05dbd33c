// The address cards that a host keeps for its ranks.
#include "launcher/card_cache.h"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

namespace acp::launcher {

using CacheAnswer = CardCache::Answer;

// Only the first rank's question goes out. The answer has to name all ranks
// that wait, and an empty answer is one as well.
TEST_CASE("card cache: acprun is asked once for all ranks of a host",
          "[launcher]") {
  constexpr std::uint32_t kRanks = 64;
  CardCache cache;
  CHECK(cache.ask(0, 700) == CacheAnswer::kAsk);
  for (std::uint32_t slot = 1; slot < kRanks; ++slot) {
    CHECK(cache.ask(slot, 700) == CacheAnswer::kUnder);
  }
  CHECK(cache.ask(5, 701) == CacheAnswer::kAsk);
  const std::vector<std::uint32_t> slots = cache.take(700, "card of 700");
  REQUIRE(slots.size() == kRanks);
  for (std::uint32_t slot = 0; slot < kRanks; ++slot) {
    CHECK(slots[slot] == slot);
  }
  CHECK(cache.ask(9, 700) == CacheAnswer::kHere);
  CHECK(cache.find(700) == "card of 700");
  CHECK(cache.take(701, "") == std::vector<std::uint32_t>{5});
  CHECK(cache.ask(6, 701) == CacheAnswer::kHere);
  CHECK(cache.find(701).empty());
}

TEST_CASE("card cache: an answer that no rank waits for wakes none",
          "[launcher]") {
  CardCache cache;
  CHECK(cache.take(3, "card").empty());
  CHECK(cache.ask(0, 3) == CacheAnswer::kHere);
  CHECK(cache.take(3, "another").empty());
  CHECK(cache.find(3) == "card");
}

TEST_CASE("card cache: the oldest cards go when it is full", "[launcher]") {
  CardCache cache;
  const std::string card(32, 'c');
  const std::size_t room =
      CardCache::kMostBytes / (card.size() + CardCache::kOverhead);
  const auto fetch = [&](std::size_t rank, std::string bytes) {
    const auto wanted = static_cast<std::uint32_t>(rank);
    CHECK(cache.ask(0, wanted) == CacheAnswer::kAsk);
    const auto waiting = cache.take(wanted, std::move(bytes));
    CHECK(waiting.size() == 1);
    CHECK(cache.bytes() <= CardCache::kMostBytes);
  };
  for (std::size_t rank = 0; rank < room; ++rank) {
    fetch(rank, card);
  }
  CHECK(cache.ask(0, 0) == CacheAnswer::kHere);
  fetch(room, card);
  fetch(0, card);
  CHECK(cache.ask(0, 2) == CacheAnswer::kHere);
  // A long address card, as those of UCX, needs the room of many.
  for (std::size_t rank = 0; rank < 20; ++rank) {
    fetch(2 * room + rank, std::string(64 << 10, 'u'));
  }
  CHECK(cache.ask(0, static_cast<std::uint32_t>(2 * room + 19)) ==
        CacheAnswer::kHere);
  fetch(2, card);
}

TEST_CASE("card cache: a card that is too large is passed on and not kept",
          "[launcher]") {
  CardCache cache;
  CHECK(cache.ask(1, 8) == CacheAnswer::kAsk);
  CHECK(cache.take(8, std::string(CardCache::kMostBytes, 'x')).size() == 1);
  CHECK(cache.bytes() == 0);
  CHECK(cache.ask(1, 8) == CacheAnswer::kAsk);
}

}  // namespace acp::launcher
