// Starts threads with blocked signals.
#include "base/thread.h"

#include <signal.h>

#include <system_error>
#include <utility>

#include "base/log.h"

namespace acp {

namespace {

/// While this object exists, its thread blocks all signals but those of a
/// fault. A thread that is started meanwhile inherits the mask. A signal that
/// arrives meanwhile stays pending until the object is destroyed.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t blocked;
    sigfillset(&blocked);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) {
      sigdelset(&blocked, fault);
    }
    ::pthread_sigmask(SIG_SETMASK, &blocked, &before_);
  }

  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

  ~BlockedSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

}  // namespace

Result<std::thread> start_thread(const char* what, std::function<void()> work) {
  const BlockedSignals blocked;
  try {
    return std::thread(std::move(work));
  } catch (const std::system_error& error) {
    log_error("starting {}: {}", what, error.what());
    return Status::kSystem;
  }
}

}  // namespace acp
