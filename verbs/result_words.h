// Where atomics leave old values: registered words, which nobody else reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "verbs/buffer_pool.h"

namespace acp::verbs {

/// A word that a device writes to. Owned by its pool; lent.
struct ResultWord {
  std::uint64_t* value = nullptr;
  std::uint32_t lkey = 0;
};

/// The words of one device. One thread at a time.
class ResultWords {
 public:
  explicit ResultWords(ibv_pd& domain) : memory_(domain) {}

  /// Makes them, once. kNoMemory: logged.
  [[nodiscard]] Status make();

  std::size_t free() const noexcept { return free_.size(); }

  /// Precondition: there is a free one.
  ResultWord acquire() noexcept {
    const ResultWord word = free_.back();
    free_.pop_back();
    return word;
  }

  void release(ResultWord word) noexcept { free_.push_back(word); }

 private:
  BufferPool memory_;
  std::vector<ResultWord> free_;  ///< Has room for all.
};

}  // namespace acp::verbs
