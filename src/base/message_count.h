// A hook for layers that pass messages: they tell of each message, and the
// layer that counts them has set the function. Without one a call costs a load
// and a branch.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace acp {

/// Counts a message of `bytes` bytes to the rank `to`. May not block.
using MessageCounter = void (*)(std::uint32_t to, std::size_t bytes) noexcept;

/// Set before the first message and after the last one; null: none counts.
inline std::atomic<MessageCounter> g_message_counter{nullptr};

/// Any thread.
inline void count_message(std::uint32_t to, std::size_t bytes) noexcept {
  // Relaxed: the program orders the first message behind acp_init.
  if (const MessageCounter counter =
          g_message_counter.load(std::memory_order_relaxed);
      counter != nullptr) {
    counter(to, bytes);
  }
}

}  // namespace acp
