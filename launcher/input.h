// Carries acprun's standard input to rank 0.
#pragma once

#include <array>
#include <cstddef>

#include "base/unique_fd.h"
#include "launcher/event_loop.h"

namespace acp::launcher {

/// Used by the thread of the event loop, which alone touches all fields. It
/// reads standard input only while the rank's pipe has room.
class Input {
 public:
  /// `source` is not closed here. `pipe` has to be non-blocking.
  Input(EventLoop& loop, int source, UniqueFd pipe);
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;
  ~Input();

  /// Begins to read, also after a pause.
  void start();

  /// True while the terminal belongs to another process group. The caller calls
  /// start() again later.
  bool is_paused() const noexcept { return is_paused_; }

 private:
  void on_readable();
  void on_writable();
  void stop();

  EventLoop& loop_;
  int source_;
  UniqueFd pipe_;
  std::array<char, 1 << 16> buffer_{};
  std::size_t begin_ = 0;  ///< First byte of buffer_ to write.
  std::size_t end_ = 0;    ///< Behind its last byte.
  bool is_paused_ = false;
};

}  // namespace acp::launcher
