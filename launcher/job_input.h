// The standard input of a job, which rank 0 reads: from acprun's descriptor to
// the pipe of that rank on this host, or in messages to its host. job.cc opens
// it when the ranks have been started.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/unique_fd.h"
#include "launcher/event_loop.h"
#include "launcher/input.h"
#include "launcher/remote_streams.h"
#include "status/status.h"

namespace acp::launcher {

/// Used by the thread of the event loop, which alone touches all fields. All
/// functions may be called before open(), and then do nothing.
class JobInput {
 public:
  using Clock = std::chrono::steady_clock;

  /// `send` gets pieces of the input for a rank on another host, and "" at the
  /// end. `loop` must outlive this.
  JobInput(EventLoop& loop, std::function<void(std::string)> send)
      : loop_(loop), send_(std::move(send)) {}

  /// Begins to read standard input. `pipe` leads to the rank and is
  /// non-blocking; empty: the rank is on another host. kSystem, logged.
  [[nodiscard]] Status open(UniqueFd pipe);

  /// The rank on another host has taken so many bytes.
  void note_taken(std::int64_t bytes);

  /// The rank on another host has closed its standard input.
  void note_closed();

  /// Reads on after a pause, if the terminal belongs to acprun again.
  void resume();

  /// The time of the next resume(): Clock::time_point::max() without a pause.
  Clock::time_point next() const;

  /// Reads and sends no more.
  void stop();

 private:
  EventLoop& loop_;
  const std::function<void(std::string)> send_;
  std::optional<InputSender> sender_;  ///< Where rank 0 is on another host.
  std::optional<Input> input_;         ///< From open() to stop().
};

}  // namespace acp::launcher
