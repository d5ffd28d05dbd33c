// A buffer before acprun's standard output or error. Its writes never block.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/unique_fd.h"

namespace acp::launcher {

enum class SinkState : std::uint8_t {
  kIdle,     ///< Everything is written.
  kBlocked,  ///< The reader is slow: flush() again when it is writable.
  kBroken,   ///< A write has failed; the text is dropped from now on.
};

/// Returns how many bytes to write next. A pipe takes up to 4096 bytes as a
/// whole or not at all, so writes have this size at most and end at a line's
/// end where possible.
std::size_t next_write_size(std::string_view pending) noexcept;

/// Used by the thread of the event loop, which alone touches all fields.
class OutputSink {
 public:
  /// `fd` is not closed here. A terminal or pipe is opened a second time:
  /// O_NONBLOCK on the first description would change it for other processes.
  explicit OutputSink(int fd);

  /// The descriptor to wait for while kBlocked.
  int fd() const noexcept { return own_ ? own_.get() : fd_; }

  std::string& buffer() noexcept { return pending_; }

  std::size_t pending() const noexcept { return pending_.size() - written_; }

  /// Writes as much as the descriptor takes now.
  SinkState flush();

  SinkState state() const noexcept { return state_; }

  /// The errno of the write that failed, while kBroken.
  int error() const noexcept { return error_; }

 private:
  ssize_t write_some(std::string_view bytes);

  int fd_;
  UniqueFd own_;  ///< Second, non-blocking description of fd_; may be empty.
  bool is_socket_ = false;
  bool may_block_ = false;  ///< own_ is missing: ask poll before each write.
  std::string pending_;
  std::size_t written_ = 0;  ///< Bytes at the front of pending_ that are out.
  SinkState state_ = SinkState::kIdle;
  int error_ = 0;
};

}  // namespace acp::launcher
