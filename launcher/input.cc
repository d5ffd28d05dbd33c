// Reads standard input piece by piece, and the next one only when the rank's
// pipe has taken the last. Called by the job from its event loop; never blocks.
#include "launcher/input.h"

#include <unistd.h>

#include <cerrno>

namespace acp::launcher {

Input::Input(EventLoop& loop, int source, UniqueFd pipe)
    : loop_(loop), source_(source), pipe_(std::move(pipe)) {}

Input::~Input() {
  stop();
}

void Input::start() {
  is_paused_ = false;
  if (!pipe_) return;
  // The kernel stops a background process that reads the terminal, so ask
  // first.
  if (::isatty(source_) == 1 && ::tcgetpgrp(source_) != ::getpgrp()) {
    is_paused_ = true;
    return;
  }
  if (loop_.watch(source_, EPOLLIN, [this] { on_readable(); }) != Status::kOk) {
    stop();
  }
}

void Input::on_readable() {
  const ssize_t n = ::read(source_, buffer_.data(), buffer_.size());
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
  loop_.forget(source_);
  if (n < 0 && errno == EIO && ::isatty(source_) == 1) {
    is_paused_ = true;
    return;
  }
  if (n <= 0) {
    stop();
    return;
  }
  begin_ = 0;
  end_ = static_cast<std::size_t>(n);
  on_writable();
}

/// Writes the bytes of the last read. A full pipe is watched, and start() reads
/// on when all is written.
void Input::on_writable() {
  while (begin_ < end_) {
    const ssize_t n =
        ::write(pipe_.get(), buffer_.data() + begin_, end_ - begin_);
    if (n >= 0) {
      begin_ += static_cast<std::size_t>(n);
    } else if (errno == EAGAIN) {
      if (loop_.watch(pipe_.get(), EPOLLOUT, [this] { on_writable(); }) !=
          Status::kOk) {
        stop();
      }
      return;
    } else if (errno != EINTR) {
      stop();  // The rank has closed its standard input.
      return;
    }
  }
  loop_.forget(pipe_.get());
  start();
}

void Input::stop() {
  loop_.forget(source_);
  if (pipe_) {
    loop_.forget(pipe_.get());
    pipe_.reset();
  }
}

}  // namespace acp::launcher
