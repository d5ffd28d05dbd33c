// Words that the device of this process reads and writes: results of atomics,
// and values of put8 on a device that takes no inline data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "verbs/buffer_pool.h"

namespace acp::verbs {

/// A word in registered memory. Owned by its pool and lent.
struct RegisteredWord {
  std::uint64_t* value = nullptr;
  std::uint32_t lkey = 0;
};

/// The words of one device. Guarded by the engine's mutex.
class RegisteredWords {
 public:
  explicit RegisteredWords(ibv_pd& domain) : memory_(domain) {}

  /// Makes 1,024 words, unless they exist. kNoMemory: logged.
  [[nodiscard]] Status make();

  std::size_t free() const noexcept { return free_.size(); }

  /// Precondition: free() > 0.
  RegisteredWord acquire() noexcept {
    const RegisteredWord word = free_.back();
    free_.pop_back();
    return word;
  }

  void release(RegisteredWord word) noexcept { free_.push_back(word); }

 private:
  BufferPool memory_;  ///< Filled by make().
  /// Has room for all words. make() adds all. acquire() and release() lend
  /// them.
  std::vector<RegisteredWord> free_;
};

}  // namespace acp::verbs
