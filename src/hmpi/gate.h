// The lock of a process's HMPI state. Each call of the program enters it, and
// the library's thread visits it before it works for a process that computes.
// It belongs to no thread.
//
// Where one thread of the program calls at a time, a call costs no locked
// instruction: it stores that it is inside, and then looks for a visitor. The
// visitor stores that it is there, has the kernel put a fence into all threads
// of the process, and then looks whether a call is inside. So at least one of
// the two sees the other. Visits are seldom. Where several threads call, the
// gate is a lock that takes one exchange while nobody waits.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>

#include "hmpi/fence.h"

namespace hmpi {

class Gate {
 public:
  /// From now on one thread of the program calls at a time. Nobody is inside.
  void favor_calls() noexcept { favors_calls_ = Fences::register_threads(); }

  void enter() noexcept {
    if (favors_calls_) {
      enter_favored();
    } else if (!try_take()) {
      wait();
    }
  }

  void leave() noexcept {
    if (favors_calls_) {
      // Release: pairs with try_visit().
      is_inside_.store(false, std::memory_order_release);
    } else {
      give();
    }
  }

  /// Enters for the library's thread. False: a call is inside.
  [[nodiscard]] bool try_visit() noexcept {
    if (!favors_calls_) {
      return try_take();
    }
    if (is_inside_.load(std::memory_order_relaxed) ||
        is_visited_.exchange(true, std::memory_order_acquire)) {
      return false;
    }
    Fences::in_all_threads();
    // Acquire: sees the writes of the call that left.
    if (is_inside_.load(std::memory_order_acquire)) {
      end_visit();
      return false;
    }
    return true;
  }

  void end_visit() noexcept {
    if (favors_calls_) {
      // Release: pairs with enter_favored().
      is_visited_.store(false, std::memory_order_release);
    } else {
      give();
    }
  }

 private:
  static constexpr std::uint32_t kOpen = 0;
  static constexpr std::uint32_t kTaken = 1;
  static constexpr std::uint32_t kAwaited = 2;  ///< Taken, and a thread sleeps.

  /// A visitor may copy a message of any size, so a call that waits for it
  /// yields its processor.
  void enter_favored() noexcept {
    for (;;) {
      is_inside_.store(true, std::memory_order_relaxed);
      // Pairs with the fence in all threads.
      std::atomic_signal_fence(std::memory_order_seq_cst);
      // Acquire: sees the writes of the visitor that left.
      if (!is_visited_.load(std::memory_order_acquire)) {
        return;
      }
      is_inside_.store(false, std::memory_order_release);
      while (is_visited_.load(std::memory_order_relaxed)) {
        ::sched_yield();
      }
    }
  }

  bool try_take() noexcept {
    std::uint32_t open = kOpen;
    // Acquire: sees the writes of the thread that left.
    return state_.compare_exchange_strong(
        open, kTaken, std::memory_order_acquire, std::memory_order_relaxed);
  }

  void give() noexcept {
    if (state_.exchange(kOpen, std::memory_order_release) == kAwaited) {
      state_.notify_one();
    }
  }

  /// A thread that has slept takes it as kAwaited: more threads may sleep.
  void wait() noexcept {
    for (int i = 0; i < 100; ++i) {
      if (try_take()) {
        return;
      }
    }
    while (state_.exchange(kAwaited, std::memory_order_acquire) != kOpen) {
      state_.wait(kAwaited, std::memory_order_relaxed);
    }
  }

  bool favors_calls_ = false;
  std::atomic<bool> is_inside_ = false;
  std::atomic<bool> is_visited_ = false;
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
