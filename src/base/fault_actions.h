// A handler of the signals of a fault that passes on what is not its own.
#pragma once

#include <array>
#include <csignal>

namespace acp {

/// The actions of SIGSEGV and SIGBUS that were there before a handler. One
/// object for each handler, with static storage, because a handler may run
/// later than its removal. install() and remove() need a lock of the caller.
class FaultActions {
 public:
  using Handler = void (*)(int signal, siginfo_t* info, void* context);

  static constexpr std::array kSignals = {SIGSEGV, SIGBUS};

  /// Keeps the actions that are there, and installs the handler.
  void install(Handler handler) noexcept;

  /// Restores them, unless the program has installed another handler since.
  void remove(Handler handler) const noexcept;

  /// Does what the action before the handler would do; the handler calls it.
  /// Without a handler there the action becomes the default, and the
  /// instruction runs and faults again, so that a core dump shows it. Uses only
  /// what a signal handler may use.
  void pass_on(int signal, siginfo_t* info, void* context) const noexcept;

 private:
  /// Written before the handler is installed.
  std::array<struct sigaction, kSignals.size()> before_;
};

}  // namespace acp
