// Blocks signals while threads are started that must not take the program's.
#pragma once

#include <signal.h>

namespace acp {

/// While this object exists, its thread blocks all signals but those of a
/// fault. A thread that is started meanwhile inherits the mask. A signal that
/// arrives meanwhile stays pending until the object is destroyed.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t blocked;
    ::sigfillset(&blocked);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) {
      ::sigdelset(&blocked, fault);
    }
    ::pthread_sigmask(SIG_SETMASK, &blocked, &before_);
  }

  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

  ~BlockedSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

}  // namespace acp
