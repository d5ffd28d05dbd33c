// Tests of the index of free chunks against a search bit by bit.
#include "middle/malloc/chunk_index.h"

#include <cstdint>
#include <random>
#include <vector>

#include <catch2/catch.hpp>

namespace acp::middle::test {

namespace {

/// The first `count` free chunks in a row, found by looking at each chunk.
std::uint64_t search(const std::vector<bool>& taken, std::uint64_t count) {
  std::uint64_t in_a_row = 0;
  for (std::uint64_t i = 0; i < taken.size(); ++i) {
    in_a_row = taken[i] ? 0 : in_a_row + 1;
    if (in_a_row == count) return i + 1 - count;
  }
  return ChunkIndex::kNone;
}

}  // namespace

// A plain search over bits is the model. After each random change every count
// is looked up in both, up to counts that span many groups.
TEST_CASE("chunk index: finds what a search finds", "[malloc]") {
  std::mt19937_64 random(5);
  for (const std::uint64_t groups : {1, 2, 3, 7, 16}) {
    ChunkIndex index(groups);
    std::vector<bool> taken(groups * 64);
    CHECK(index.find(groups * 64) == 0);
    CHECK(index.find(groups * 64 + 1) == ChunkIndex::kNone);
    for (int i = 0; i < 3000; ++i) {
      const std::uint64_t group = random() % groups;
      std::uint64_t mask = random();
      mask &= random();
      mask &= random();
      std::uint64_t word = 0;
      for (std::uint64_t bit = 0; bit < 64; ++bit)
        word |= std::uint64_t{taken[group * 64 + bit]} << bit;
      switch (random() % 4) {
        case 0: index.set(group, word = mask); break;
        case 1: index.set(group, word = random() % 2 == 0 ? 0 : mask); break;
        case 2: index.mark_taken(group, mask), word |= mask; break;
        default: index.mark_free(group, mask), word &= ~mask; break;
      }
      for (std::uint64_t bit = 0; bit < 64; ++bit)
        taken[group * 64 + bit] = (word >> bit & 1) != 0;
      for (const std::uint64_t count : {1, 2, 5, 17, 40, 64, 65, 130, 300}) {
        REQUIRE(index.find(count) == search(taken, count));
      }
    }
  }
}

}  // namespace acp::middle::test
