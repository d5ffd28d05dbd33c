// A lock that threads hold for nanoseconds and seldom contend for.
#pragma once

#include <sched.h>

#include <atomic>

#include "base/pause.h"

namespace acp {

/// A mutex that costs one atomic exchange. A waiting thread soon yields its
/// core, because the scheduler may have preempted the holder.
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
    // One to a few microseconds, and holders need nanoseconds: a lock that is
    // still taken then has a holder without a core. Reasoned, not measured.
    // Below some 20 looks a wait yields to a holder that is about to unlock.
    // Above some 1,000 it burns time in which a preempted holder could run.
    constexpr int kLooks = 100;
    for (int look = 0; is_taken_.load(std::memory_order_relaxed); ++look) {
      if (look < kLooks) {
        pause_cpu();
      } else {
        ::sched_yield();
      }
    }
  }

  /// True while a thread has the lock. Any thread stores true by exchange(),
  /// and only the owner stores false.
  std::atomic<bool> is_taken_{false};
};

}  // namespace acp
