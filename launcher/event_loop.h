// The event loop of a job: waits for descriptors with epoll and calls their
// handlers.
#pragma once

#include <sys/epoll.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>

#include "base/unique_fd.h"
#include "status/status.h"

namespace acp::launcher {

/// Used by one thread, which alone touches all fields. Handlers may watch and
/// forget any descriptor.
class EventLoop {
 public:
  using Handler = std::function<void()>;

  /// Makes the epoll descriptor. Fails with kSystem, logged.
  [[nodiscard]] Status open();

  /// Calls `handler` when the descriptor has one of EPOLLIN and EPOLLOUT, or is
  /// closed or broken. A regular file is always ready. A second call for a
  /// descriptor replaces the first. Fails with kSystem, logged.
  [[nodiscard]] Status watch(int fd, std::uint32_t events, Handler handler);

  /// Stops watching; has no effect on a descriptor that is not watched.
  void forget(int fd);

  /// Waits at most this long (negative: for ever), then calls the handlers.
  void turn(std::chrono::milliseconds limit);

 private:
  struct Watch {
    Handler handler;
    bool is_always_ready = false;
  };

  void call(int fd);

  UniqueFd epoll_;
  std::unordered_map<int, std::shared_ptr<Watch>> watches_;
  int always_ready_ = 0;  ///< Number of watched regular files.
};

}  // namespace acp::launcher
