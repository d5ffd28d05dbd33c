// Installs handlers of faults, and passes faults on. Called by touch.cc and by
// the transport over UCX, whose handlers may both be installed. pass_on() uses
// only functions that a signal handler may use.
#include "base/fault_actions.h"

namespace acp {

void FaultActions::install(Handler handler) noexcept {
  struct sigaction mine {};

  mine.sa_sigaction = handler;
  // SA_NODEFER, because the handler of the program may leave by longjmp, too.
  mine.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], nullptr, &before_[i]);
    ::sigaction(kSignals[i], &mine, nullptr);
  }
}

void FaultActions::remove(Handler handler) const noexcept {
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    struct sigaction now {};

    ::sigaction(kSignals[i], nullptr, &now);
    if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == handler) {
      ::sigaction(kSignals[i], &before_[i], nullptr);
    }
  }
}

void FaultActions::pass_on(int signal,
                           siginfo_t* info,
                           void* context) const noexcept {
  const struct sigaction& before = before_[signal == SIGBUS ? 1 : 0];
  if ((before.sa_flags & SA_SIGINFO) != 0) {
    before.sa_sigaction(signal, info, context);
    return;
  }
  const bool is_sent =
      info->si_code <= 0;  // sent by kill(): it will not fault again
  if (before.sa_handler == SIG_IGN && is_sent) {
    return;
  }
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
    before.sa_handler(signal);
    return;
  }

  struct sigaction none {};

  none.sa_handler = SIG_DFL;
  ::sigaction(signal, &none, nullptr);
  if (is_sent) {
    ::raise(signal);
  }
}

}  // namespace acp
