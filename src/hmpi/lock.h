// A lock for a few instructions that call nothing. It works from malloc, so it
// allocates nothing, and a child made by fork() never needs it.
#pragma once

#include <sched.h>

#include <atomic>

namespace hmpi {

/// std::lock_guard takes it.
class Lock {
 public:
  void lock() noexcept {
    while (is_taken_.exchange(true, std::memory_order_acquire)) {
      ::sched_yield();  // Its holder may have lost its processor.
    }
  }

  void unlock() noexcept { is_taken_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> is_taken_ = false;
};

}  // namespace hmpi
