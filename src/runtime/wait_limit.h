// When a wait for a launcher, or for ranks that start, ends without success.
#pragma once

#include <poll.h>

#include <algorithm>
#include <chrono>

#include "base/clock.h"

namespace acp::runtime {

/// A plain value.
struct WaitLimit {
  TimePoint deadline = TimePoint::max();
  /// A descriptor on which one of `end_events` happens when the job ends; -1:
  /// there is none.
  int end_fd = -1;
  short end_events = POLLIN;

  /// The time-out for poll(), rounded up; -1 without a deadline.
  int poll_timeout_ms() const noexcept {
    if (deadline == TimePoint::max()) {
      return -1;
    }
    constexpr Duration kDay = std::chrono::hours(24);
    const Duration left =
        std::min(std::max(deadline - SteadyClock().now(), Duration(0)), kDay);
    return static_cast<int>(
        std::chrono::ceil<std::chrono::milliseconds>(left).count());
  }
};

/// A descriptor that tells when a process is gone.
struct DeathWatch {
  int fd = -1;  ///< -1: nothing tells.
  short events = POLLIN;
};

}  // namespace acp::runtime
