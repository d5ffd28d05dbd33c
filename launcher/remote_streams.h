// The ranks' streams in a daemon: output that goes to acprun in messages, and
// standard input that comes from it. Neither end may send more than the other
// has room for, so no buffer grows without limit.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/unique_fd.h"
#include "launcher/event_loop.h"
#include "launcher/output_sink.h"

namespace acp::launcher {

/// Bytes of standard input that may be on their way to a rank.
inline constexpr std::int64_t kInputWindow = 256 << 10;

/// Bytes of output that a daemon may send before acprun has passed some on. It
/// is smaller in jobs of many hosts, whose windows acprun holds in memory.
std::int64_t output_window(std::size_t hosts) noexcept;

/// A sink whose lines become messages, while acprun has room for them. Used by
/// one thread.
class MessageSink final : public OutputSink {
 public:
  using Send = std::function<void(std::string lines)>;

  /// `room` is how many bytes acprun has room for; both sinks of a daemon share
  /// it. One message may exceed it.
  MessageSink(std::int64_t& room, Send send)
      : room_(room), send_(std::move(send)) {}

  int fd() const noexcept override { return -1; }

  std::string& buffer() noexcept override { return pending_; }

  std::size_t pending() const noexcept override { return pending_.size(); }

  SinkState flush() override;

  SinkState state() const noexcept override {
    return pending_.empty() ? SinkState::kIdle : SinkState::kBlocked;
  }

 private:
  std::int64_t& room_;
  Send send_;
  std::string pending_;
};

/// Writes standard input into the pipe of the rank that reads it. Used by the
/// thread of the event loop.
class RankInput {
 public:
  /// `on_taken` gets the number of bytes that the rank's pipe has taken;
  /// `on_closed` is called once when the rank has closed its standard input.
  RankInput(EventLoop& loop,
            UniqueFd pipe,
            std::function<void(std::int64_t)> on_taken,
            std::function<void()> on_closed);
  RankInput(const RankInput&) = delete;
  RankInput& operator=(const RankInput&) = delete;
  ~RankInput();

  /// "" is the end of the input.
  void take(std::string_view bytes);

 private:
  void write_some();
  void stop();

  EventLoop& loop_;
  UniqueFd pipe_;
  std::function<void(std::int64_t)> on_taken_;
  std::function<void()> on_closed_;
  std::string pending_;
  bool has_end_ = false;
};

/// acprun's half: reads from a pipe, into which Input writes, and sends the
/// bytes while the rank's host has room. Used by the thread of the event loop.
class InputSender {
 public:
  /// `send` gets pieces of the input, and "" at its end. `pipe` is
  /// non-blocking.
  InputSender(EventLoop& loop,
              UniqueFd pipe,
              std::function<void(std::string)> send);
  InputSender(const InputSender&) = delete;
  InputSender& operator=(const InputSender&) = delete;
  ~InputSender();

  void note_taken(std::int64_t bytes);
  /// The rank has closed its standard input.
  void close();

 private:
  void watch();
  void read_some();

  EventLoop& loop_;
  UniqueFd pipe_;
  std::function<void(std::string)> send_;
  std::int64_t room_ = kInputWindow;
  bool is_watched_ = false;
};

}  // namespace acp::launcher
