// Writes to acprun's standard output or error without blocking. Called by
// Output in the event loop. What a full pipe does not take may not be lost: it
// stays pending for the next flush.
#include "launcher/output_sink.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace acp::launcher {

namespace {

constexpr std::size_t kPipeAtom = 4096;  // PIPE_BUF of Linux

}  // namespace

std::size_t next_write_size(std::string_view pending) noexcept {
  if (pending.size() <= kPipeAtom) return pending.size();
  const std::size_t newline = pending.rfind('\n', kPipeAtom - 1);
  return newline == std::string_view::npos ? kPipeAtom : newline + 1;
}

DescriptorSink::DescriptorSink(int fd) : fd_(fd) {
  struct stat info {};

  if (::fstat(fd, &info) != 0) return;
  is_socket_ = S_ISSOCK(info.st_mode);
  if (S_ISFIFO(info.st_mode) || S_ISCHR(info.st_mode)) {
    own_.reset(::open(fmt::format("/proc/self/fd/{}", fd).c_str(),
                      O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
    may_block_ = !own_;
  }
}

ssize_t DescriptorSink::write_some(std::string_view bytes) {
  if (is_socket_) {
    return ::send(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  }
  if (may_block_) {
    pollfd ready{fd_, POLLOUT, 0};
    if (::poll(&ready, 1, 0) == 0) {
      errno = EAGAIN;
      return -1;
    }
  }
  return ::write(fd(), bytes.data(), bytes.size());
}

/// Writes until nothing is left or the reader has no room. When the descriptor
/// is broken, the rest is dropped: it has no reader any more.
SinkState DescriptorSink::flush() {
  while (state_ != SinkState::kBroken && pending() > 0) {
    std::string_view left(pending_);
    left.remove_prefix(written_);
    const ssize_t n = write_some(left.substr(0, next_write_size(left)));
    if (n >= 0) {
      written_ += static_cast<std::size_t>(n);
    } else if (errno == EAGAIN) {
      // Written bytes go now, so that a slow reader does not make pending_
      // grow.
      pending_.erase(0, written_);
      written_ = 0;
      return state_ = SinkState::kBlocked;
    } else if (errno != EINTR) {
      error_ = errno;
      state_ = SinkState::kBroken;
    }
  }
  pending_.clear();
  written_ = 0;
  if (state_ != SinkState::kBroken) state_ = SinkState::kIdle;
  return state_;
}

}  // namespace acp::launcher
