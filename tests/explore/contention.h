// Learns the words that several ranks access. Other words need no scheduling.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace explore {

/// Learns the *contended* words from schedules: a rank writes such a word, and
/// another rank reads or writes it.
///
/// A step that accesses no contended word makes no difference to other ranks,
/// so it needs no choice before it. The set that is in use stays the same while
/// a search runs. When the search has found more contended words, it begins
/// again with the larger set.
class Contention {
 public:
  Contention();

  /// A rank accesses a word.
  void note(std::uint64_t word, int rank, bool is_write);

  /// Whether the word is contended, in the set that is in use.
  bool is_contended(std::uint64_t word) const {
    return is_everything_ || at(word).is_used;
  }

  /// Puts all contended words that are known into use. False: the set has not
  /// changed.
  bool grow();

  /// Takes all words for contended from now on.
  void take_everything() { is_everything_ = true; }

  bool is_everything() const { return is_everything_; }

 private:
  struct Word {
    std::uint64_t key = 0;
    std::uint32_t writers = 0;  ///< A bit for each rank.
    std::uint32_t users = 0;    ///< Readers and writers.
    bool is_known = false;      ///< Contended.
    bool is_used = false;       ///< In the set that is in use.
  };

  static std::size_t first_slot(std::uint64_t word);
  const Word& at(std::uint64_t word) const;

  std::vector<Word> words_;
  bool has_grown_ = false;
  bool is_everything_ = false;
};

}  // namespace explore
