// Carries acprun's standard input to rank 0.
#pragma once

#include <array>
#include <cstddef>

#include "base/unique_fd.h"
#include "launcher/event_loop.h"

namespace acp::launcher {

/// Used by one thread. Reads only what the rank has room for.
class Input {
 public:
  /// `source` stays the caller's; `pipe` is non-blocking.
  Input(EventLoop& loop, int source, UniqueFd pipe);
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;
  ~Input();

  /// Begins, or begins again after the terminal was taken from us.
  void start();

  /// True while the terminal belongs to somebody else: start() again later.
  bool is_paused() const noexcept { return is_paused_; }

 private:
  void on_readable();
  void on_writable();
  void stop();

  EventLoop& loop_;
  int source_;
  UniqueFd pipe_;
  std::array<char, 1 << 16> buffer_{};
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  bool is_paused_ = false;
};

}  // namespace acp::launcher
