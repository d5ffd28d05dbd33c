// Writes queued messages. Called by daemons for messages to acprun, and by
// DaemonConnection for messages to a daemon. It never waits.
#include "launcher/write_queue.h"

#include <unistd.h>

#include <cerrno>

namespace acp::launcher {

/// written_ counts what is out of the first message, since a pipe may take a
/// part of it.
WriteQueue::Outcome WriteQueue::write_to(int pipe) {
  while (!messages_.empty()) {
    const std::string_view bytes = messages_.front().bytes;
    const ssize_t n =
        ::write(pipe, bytes.data() + written_, bytes.size() - written_);
    if (n >= 0) {
      written_ += static_cast<std::size_t>(n);
      if (written_ < bytes.size()) continue;
      messages_.pop_front();
      written_ = 0;
    } else if (errno == EAGAIN) {
      return Outcome::kFull;
    } else if (errno != EINTR) {
      return Outcome::kBroken;
    }
  }
  return Outcome::kAllWritten;
}

void WriteQueue::clear() {
  messages_.clear();
  written_ = 0;
}

}  // namespace acp::launcher
