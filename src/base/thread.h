// Starts threads of the library, which must not disturb the program's signals.
#pragma once

#include <functional>
#include <optional>
#include <thread>

namespace acp {

/// Starts a thread that runs `work` and takes no signal of the program.
///
/// The kernel delivers a signal for the process to any thread that does not
/// block it. The new thread blocks all signals from its first instruction on.
/// So a program that blocks a signal in its own threads, and takes it by
/// sigwait or signalfd, still gets it. Signals of a fault (SIGSEGV, SIGBUS,
/// SIGFPE, SIGILL, SIGTRAP, SIGSYS) stay unblocked. They go to the thread that
/// causes them, and the kernel ends a process that blocks them.
///
/// `work` must not throw. `what` names the thread in error messages. The signal
/// mask of the calling thread is unchanged on return. Returns nothing when the
/// system refuses the thread; the reason is logged.
[[nodiscard]] std::optional<std::thread> start_thread(
    const char* what, std::function<void()> work);

}  // namespace acp
