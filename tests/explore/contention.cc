// A hash table of words with open addressing. A scenario touches some thousand
// words, in all of its schedules together.
#include "explore/contention.h"

#include <bit>
#include <cstdlib>

namespace explore {

namespace {

constexpr std::size_t kWords = std::size_t{1} << 16;

}  // namespace

Contention::Contention() : words_(kWords) {}

std::size_t Contention::first_slot(std::uint64_t word) {
  return (word * 0x9e37'79b9'7f4a'7c15) >> 48;
}

/// The entry of a word, or the free one where it would be.
const Contention::Word& Contention::at(std::uint64_t word) const {
  std::size_t slot = first_slot(word);
  for (std::size_t looks = 0; looks < kWords; ++looks) {
    const Word& entry = words_[slot];
    if (entry.key == word || entry.key == 0) {
      return entry;
    }
    slot = (slot + 1) % kWords;
  }
  std::abort();  // a scenario touches fewer words
}

void Contention::note(std::uint64_t word, int rank, bool is_write) {
  auto& entry = const_cast<Word&>(at(word));
  entry.key = word;
  const std::uint32_t bit = std::uint32_t{1} << rank;
  if ((entry.users & bit) != 0 && (!is_write || (entry.writers & bit) != 0)) {
    return;
  }
  entry.users |= bit;
  entry.writers |= is_write ? bit : 0;
  if (!entry.is_known && entry.writers != 0 && std::popcount(entry.users) > 1) {
    entry.is_known = true;
    has_grown_ = true;
  }
}

bool Contention::grow() {
  const bool has_grown = has_grown_;
  for (Word& entry : words_) {
    entry.is_used = entry.is_known;
  }
  has_grown_ = false;
  return has_grown;
}

}  // namespace explore
