// Sleeping until a wire or the doorbell has something. A descriptor that epoll
// watches costs whoever sends to it a call into epoll for each packet, also
// when nobody sleeps there: 0.3 us of the 2.5 that a datagram takes on
// loopback. So the wires are watched only from a sleep on until detach().
#pragma once

#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace acp::runtime {

/// One thread at a time, after open().
class EpollWatch {
 public:
  /// kSystem, logged.
  [[nodiscard]] Status open(int doorbell, std::vector<int> transports);

  /// False, logged once: the system refuses, and wait() sees the doorbell only.
  bool attach();
  void detach() noexcept;

  /// Sleeps until `limit`, max() for ever, or until there is something to read;
  /// true when there is, false after a signal, too.
  bool wait(TimePoint limit);

 private:
  bool add(int fd) noexcept;

  UniqueFd epoll_;
  std::vector<int> transports_;
  bool is_attached_ = false;
  bool has_complained_ = false;
  bool has_pwait2_ = true;
};

}  // namespace acp::runtime
