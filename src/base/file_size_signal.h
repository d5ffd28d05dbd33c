// Keeps the signal of too large a file from ending the process.
#pragma once

#include <signal.h>

#include <cerrno>
#include <ctime>

namespace acp {

/// While this object exists, a write of its thread beyond the limit of file
/// sizes (RLIMIT_FSIZE) only fails with EFBIG. The kernel also sends SIGXFSZ to
/// the thread, which would end the program without a word. The object takes
/// that signal back. Blocks nothing else, and preserves errno.
class NoFileSizeSignal {
 public:
  NoFileSizeSignal() {
    ::sigemptyset(&signal_);
    ::sigaddset(&signal_, SIGXFSZ);
    sigset_t pending;
    ::sigpending(&pending);
    was_pending_ = ::sigismember(&pending, SIGXFSZ) == 1;
    ::pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }

  NoFileSizeSignal(const NoFileSizeSignal&) = delete;
  NoFileSizeSignal& operator=(const NoFileSizeSignal&) = delete;

  /// A signal that the program had pending before stays pending.
  ~NoFileSizeSignal() {
    const int error = errno;
    if (!was_pending_) {
      const timespec at_once{};
      while (::sigtimedwait(&signal_, nullptr, &at_once) < 0 &&
             errno == EINTR) {
      }
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error;
  }

 private:
  sigset_t signal_{};
  sigset_t before_{};
  bool was_pending_ = false;
};

}  // namespace acp
