// Sleeps in epoll until a descriptor of a transport or the doorbell socket is
// readable.
//
// Every packet for a descriptor that epoll watches costs its sender a call into
// epoll, even if no thread sleeps in it: 0.3 us of the 2.5 us that a datagram
// takes on loopback. So transports are watched from attach(), before a sleep,
// to detach(), when callers poll.
#pragma once

#include <vector>

#include "base/clock.h"
#include "base/unique_fd.h"
#include "status/result.h"

namespace acp::runtime {

/// Used by the thread in the role of the poller, after open().
class EpollWatch {
 public:
  /// Watches the descriptors from now on. kSystem, logged.
  [[nodiscard]] Status open(int doorbell, std::vector<int> transports);

  /// Watches the transports, if it does not. False, logged once: the system
  /// refuses, and wait() sees the doorbell only.
  bool attach();
  /// Watches the doorbell only.
  void detach() noexcept;

  /// Sleeps until a descriptor is readable, at most until `limit`; max() means
  /// no limit. True when a descriptor is readable. False after the limit, and
  /// after a signal of the system.
  bool wait(TimePoint limit);

 private:
  bool add(int fd) noexcept;

  UniqueFd epoll_;
  std::vector<int> transports_;  ///< Descriptors. Written by open().
  bool is_attached_ = false;     ///< The transports are watched.
  bool has_complained_ = false;  ///< attach() has logged its failure.
  bool has_pwait2_ = true;       ///< The system has not refused epoll_pwait2.
};

}  // namespace acp::runtime
