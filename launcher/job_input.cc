// Opens and ends the standard input of a job. Called by job.cc alone. It never
// waits for a reader or for the terminal.
#include "launcher/job_input.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/log.h"

namespace acp::launcher {

namespace {

/// Time between two looks whether the terminal belongs to acprun again.
constexpr std::chrono::milliseconds kTerminalTick{500};

}  // namespace

/// Standard input goes into a pipe: that of the rank, or one whose other end
/// is sent to the rank's host.
Status JobInput::open(UniqueFd pipe) {
  if (!pipe) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
      log_error("pipe: {}", errno_text(errno));
      return Status::kSystem;
    }
    pipe.reset(ends[1]);
    sender_.emplace(loop_, UniqueFd(ends[0]), send_);
  }
  input_.emplace(loop_, STDIN_FILENO, std::move(pipe));
  input_->start();
  return Status::kOk;
}

void JobInput::note_taken(std::int64_t bytes) {
  if (sender_) sender_->note_taken(bytes);
}

void JobInput::note_closed() {
  if (sender_) sender_->close();
}

void JobInput::resume() {
  if (input_ && input_->is_paused()) input_->start();
}

JobInput::Clock::time_point JobInput::next() const {
  const bool is_paused = input_ && input_->is_paused();
  return is_paused ? Clock::now() + kTerminalTick : Clock::time_point::max();
}

void JobInput::stop() {
  input_.reset();
  sender_.reset();
}

}  // namespace acp::launcher
