// Waits for descriptors and calls whoever watches them. A thin epoll.
#pragma once

#include <sys/epoll.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>

#include "base/status.h"
#include "base/unique_fd.h"

namespace acp::launcher {

/// Used by one thread. Handlers may watch and forget any descriptor.
class EventLoop {
 public:
  using Handler = std::function<void()>;

  /// kSystem, logged.
  [[nodiscard]] Status open();

  /// Calls `handler` when the descriptor has one of EPOLLIN, EPOLLOUT; closed
  /// and broken ones count as ready. A regular file is always ready. Watching
  /// a watched descriptor replaces what was said before. kSystem, logged.
  [[nodiscard]] Status watch(int fd, std::uint32_t events, Handler handler);

  /// No effect on a descriptor that is not watched.
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
  int always_ready_ = 0;
};

}  // namespace acp::launcher
