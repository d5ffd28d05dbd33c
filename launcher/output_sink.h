// acprun's standard output or error: takes whole lines, never blocks.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/unique_fd.h"

namespace acp::launcher {

enum class SinkState : std::uint8_t {
  kIdle,     ///< Everything is written.
  kBlocked,  ///< The reader is slow: flush() again when it is writable.
  kBroken,   ///< Nobody will read it any more; what comes is dropped.
};

/// Bytes to write next, so that a write of up to 4096 bytes, which a pipe
/// takes as a whole or not at all, ends at a line's end where possible.
std::size_t next_write_size(std::string_view pending) noexcept;

/// Used by one thread.
class OutputSink {
 public:
  /// `fd` stays the caller's. Terminals and pipes are opened once more, so
  /// that not to block here does not change them for others.
  explicit OutputSink(int fd);

  /// The descriptor to wait for.
  int fd() const noexcept { return own_ ? own_.get() : fd_; }

  std::string& buffer() noexcept { return pending_; }

  std::size_t pending() const noexcept { return pending_.size() - written_; }

  SinkState flush();

  SinkState state() const noexcept { return state_; }

  /// errno of the write that broke it.
  int error() const noexcept { return error_; }

 private:
  ssize_t write_some(std::string_view bytes);

  int fd_;
  UniqueFd own_;  ///< Non-blocking twin of fd_.
  bool is_socket_ = false;
  bool may_block_ = false;  ///< No twin: ask poll before each write.
  std::string pending_;
  std::size_t written_ = 0;  ///< Of pending_'s front.
  SinkState state_ = SinkState::kIdle;
  int error_ = 0;
};

}  // namespace acp::launcher
