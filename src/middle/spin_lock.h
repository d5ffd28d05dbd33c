// A lock that is held for nanoseconds, by threads that seldom meet.
#pragma once

#include <sched.h>

#include <atomic>

namespace acp::middle {

inline void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#else
  asm volatile("yield" ::: "memory");
#endif
}

/// A mutex that costs one atomic exchange, also in a process with threads. A
/// waiter yields soon, because the scheduler may have stopped the holder.
class SpinLock {
 public:
  void lock() noexcept {
    // Pairs with the store in unlock().
    while (is_taken_.exchange(true, std::memory_order_acquire)) {
      wait();
    }
  }

  void unlock() noexcept { is_taken_.store(false, std::memory_order_release); }

 private:
  [[gnu::noinline]] void wait() noexcept {
    constexpr int kLooks = 100;
    for (int look = 0; is_taken_.load(std::memory_order_relaxed); ++look) {
      if (look < kLooks) {
        relax();
      } else {
        ::sched_yield();
      }
    }
  }

  std::atomic<bool> is_taken_{false};
};

}  // namespace acp::middle
