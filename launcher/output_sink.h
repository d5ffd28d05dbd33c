// Buffers for the ranks' output, and the one before acprun's standard output or
// error. Their writes never block.
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
/// whole or not at all. So writes have this size at most and end at a line's
/// end where possible.
std::size_t next_write_size(std::string_view pending) noexcept;

/// A buffer for output, and the way that its text takes. Used by the thread of
/// the event loop, which alone touches all fields.
class OutputSink {
 public:
  OutputSink() = default;
  OutputSink(const OutputSink&) = delete;
  OutputSink& operator=(const OutputSink&) = delete;
  virtual ~OutputSink() = default;

  /// The descriptor to wait for while kBlocked; -1: none, and the owner of the
  /// sink calls Output::flush_all() when there is room.
  virtual int fd() const noexcept = 0;
  /// Whole lines are appended here.
  virtual std::string& buffer() noexcept = 0;
  /// Bytes that are not out yet.
  virtual std::size_t pending() const noexcept = 0;
  /// Passes on as much as there is room for now.
  virtual SinkState flush() = 0;
  virtual SinkState state() const noexcept = 0;

  /// The errno of the write that failed, while kBroken.
  virtual int error() const noexcept { return 0; }
};

/// A sink that writes to a descriptor. flush() writes all fields but the first
/// four, which the constructor writes; the owner appends to buffer().
class DescriptorSink final : public OutputSink {
 public:
  /// `fd` is not closed here. A terminal or pipe is opened a second time:
  /// O_NONBLOCK on the first description would change it for other processes.
  explicit DescriptorSink(int fd);

  int fd() const noexcept override { return own_ ? own_.get() : fd_; }

  std::string& buffer() noexcept override { return pending_; }

  std::size_t pending() const noexcept override {
    return pending_.size() - written_;
  }

  SinkState flush() override;

  SinkState state() const noexcept override { return state_; }

  int error() const noexcept override { return error_; }

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
