// Futexes: a thread sleeps on a word of memory that other processes share.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <limits>

#include "base/clock.h"

namespace acp {

/// Sleeps while `word` equals `expected`, at most `timeout`. It may return
/// early without a reason, so the caller checks its condition again.
inline void futex_wait(std::atomic<std::uint32_t>& word,
                       std::uint32_t expected,
                       Duration timeout) noexcept {
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(timeout);
  timespec limit{};
  limit.tv_sec = static_cast<time_t>(seconds.count());
  limit.tv_nsec = static_cast<long>((timeout - seconds).count());
  ::syscall(SYS_futex, &word, FUTEX_WAIT, expected, &limit, nullptr, 0);
}

/// Wakes all threads that sleep on `word`, in all processes.
inline void futex_wake_all(std::atomic<std::uint32_t>& word) noexcept {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, std::numeric_limits<int>::max(),
            nullptr, nullptr, 0);
}

}  // namespace acp
