// Wakes a progress thread that sleeps in epoll, where no futex reaches it.
#pragma once

#include "protocol/host_segment.h"

namespace acp::transport {

/// Implemented by shm::DoorbellSocket. Thread-safe.
class ThreadWaker {
 public:
  ThreadWaker() = default;
  ThreadWaker(const ThreadWaker&) = delete;
  ThreadWaker& operator=(const ThreadWaker&) = delete;
  virtual ~ThreadWaker() = default;

  /// Wakes the progress thread of the rank that owns `slice`.
  virtual void wake_thread(const protocol::SliceHeader& slice) noexcept = 0;
};

}  // namespace acp::transport
