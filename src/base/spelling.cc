// Finds the word that a user meant. Error messages about options and variables
// use it, in the library and in acprun. Pure: it proposes a word and never
// takes it in place of the user's.
#include "base/spelling.h"

#include <algorithm>
#include <vector>

namespace acp {

namespace {

/// The edit distance of two words: the number of letters to change, add, leave
/// out, or exchange with the next one. Takes time |a| * |b|; words here are
/// short.
std::size_t distance(std::string_view a, std::string_view b) {
  const std::size_t width = b.size() + 1;
  std::vector<std::size_t> table((a.size() + 1) * width);
  const auto at = [&table, width](std::size_t i,
                                  std::size_t j) -> std::size_t& {
    return table[i * width + j];
  };
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        at(i, j) = i + j;
        continue;
      }
      const std::size_t change = a[i - 1] != b[j - 1] ? 1 : 0;
      at(i, j) = std::min(
          {at(i - 1, j - 1) + change, at(i - 1, j) + 1, at(i, j - 1) + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        at(i, j) = std::min(at(i, j), at(i - 2, j - 2) + 1);
      }
    }
  }
  return at(a.size(), b.size());
}

/// The largest edit distance at which a word of this length counts as
/// misspelled: a third of the letters that follow the prefix.
std::size_t most_misspelled(std::string_view word, std::string_view prefix) {
  if (word.starts_with(prefix)) {
    word.remove_prefix(prefix.size());
  }
  return std::max<std::size_t>(1, word.size() / 3);
}

}  // namespace

std::string_view nearest_word(std::string_view word,
                              std::span<const std::string_view> candidates,
                              std::string_view prefix) {
  std::string_view best;
  std::size_t best_distance = most_misspelled(word, prefix) + 1;
  for (const std::string_view candidate : candidates) {
    const std::size_t d = distance(word, candidate);
    if (d < best_distance) {
      best_distance = d;
      best = candidate;
    }
  }
  return best;
}

}  // namespace acp
