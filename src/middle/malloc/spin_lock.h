// A lock for a few instructions.
#pragma once

#include <sched.h>

#include <atomic>

namespace acp::middle {

/// Held for some ten nanoseconds, never over a call that may wait. Cheaper
/// than a mutex, whose unlocking is an atomic as well.
class SpinLock {
 public:
  void lock() noexcept {
    for (int tries = 0; is_held_.exchange(true, std::memory_order_acquire);) {
      while (is_held_.load(std::memory_order_relaxed)) {
        if (++tries % 64 == 0) {
          ::sched_yield();  // its holder may need this processor
        }
      }
    }
  }

  void unlock() noexcept { is_held_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> is_held_{false};
};

}  // namespace acp::middle
