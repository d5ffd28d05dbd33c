// Waking a thread of another process that sleeps in epoll, not on a futex.
#pragma once

#include "protocol/host_segment.h"

namespace acp::transport {

/// Thread-safe.
class ThreadWaker {
 public:
  ThreadWaker() = default;
  ThreadWaker(const ThreadWaker&) = delete;
  ThreadWaker& operator=(const ThreadWaker&) = delete;
  virtual ~ThreadWaker() = default;

  /// Wakes the epoll sleeper of the rank that owns `slice`.
  virtual void wake_thread(const protocol::SliceHeader& slice) noexcept = 0;
};

}  // namespace acp::transport
