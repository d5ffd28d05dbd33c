// The lock of a process's HMPI state. Each call of the program takes it, and so
// does the library's thread before it works for a process that computes.
// It belongs to no thread. While one thread uses it, entering is one exchange.
#pragma once

#include <atomic>
#include <cstdint>

namespace hmpi {

class Gate {
 public:
  [[nodiscard]] bool try_enter() noexcept {
    std::uint32_t open = kOpen;
    // Acquire: sees the writes of the thread that left.
    return state_.compare_exchange_strong(
        open, kTaken, std::memory_order_acquire, std::memory_order_relaxed);
  }

  void enter() noexcept {
    if (!try_enter()) {
      wait();
    }
  }

  void leave() noexcept {
    if (state_.exchange(kOpen, std::memory_order_release) == kAwaited) {
      state_.notify_one();
    }
  }

 private:
  static constexpr std::uint32_t kOpen = 0;
  static constexpr std::uint32_t kTaken = 1;
  static constexpr std::uint32_t kAwaited = 2;  ///< Taken, and a thread sleeps.

  /// A thread that has slept takes it as kAwaited: more threads may sleep.
  void wait() noexcept {
    for (int i = 0; i < 100; ++i) {
      if (try_enter()) {
        return;
      }
    }
    while (state_.exchange(kAwaited, std::memory_order_acquire) != kOpen) {
      state_.wait(kAwaited, std::memory_order_relaxed);
    }
  }

  std::atomic<std::uint32_t> state_ = kOpen;
};

/// Inside of the gate for a block.
class Inside {
 public:
  explicit Inside(Gate& gate) noexcept : gate_(gate) { gate_.enter(); }

  ~Inside() { gate_.leave(); }

  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  Gate& gate_;
};

}  // namespace hmpi
