// Starting a thread of the library's own inside somebody else's program.
#pragma once

#include <functional>
#include <thread>

#include "base/result.h"

namespace acp {

/// Starts a thread that runs `work` and takes no signal of the program.
///
/// The kernel gives a signal for the whole process to any thread that does not
/// block it. The new thread blocks all signals from its first instruction on,
/// so a program that blocks a signal in all threads of its own, and takes it by
/// sigwait or a signalfd, gets it. Only the signals of a fault stay open
/// (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS): they go to the thread
/// that causes them, and if they were blocked the kernel would end the process
/// without asking the program's handler.
///
/// `work` must not throw. `what` names the thread in a message of failure.
/// The mask of the calling thread is unchanged on return. kSystem, logged.
Result<std::thread> start_thread(const char* what, std::function<void()> work);

}  // namespace acp
