// Words that a device reads and writes for this process alone: where atomics
// leave old values, and from where a device that takes no data inline gets the
// value of a put8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "verbs/buffer_pool.h"

namespace acp::verbs {

/// A word in registered memory. Owned by its pool; lent.
struct RegisteredWord {
  std::uint64_t* value = nullptr;
  std::uint32_t lkey = 0;
};

/// The words of one device. One thread at a time.
class RegisteredWords {
 public:
  explicit RegisteredWords(ibv_pd& domain) : memory_(domain) {}

  /// Makes 1,024 words, unless they are there. kNoMemory: logged.
  [[nodiscard]] Status make();

  std::size_t free() const noexcept { return free_.size(); }

  /// Precondition: there is a free one.
  RegisteredWord acquire() noexcept {
    const RegisteredWord word = free_.back();
    free_.pop_back();
    return word;
  }

  void release(RegisteredWord word) noexcept { free_.push_back(word); }

 private:
  BufferPool memory_;
  std::vector<RegisteredWord> free_;  ///< Has room for all.
};

}  // namespace acp::verbs
