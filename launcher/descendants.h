// Finding and ending every process below this one. Works for a subreaper:
// orphans come back as its children, so nobody gets away.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <span>
#include <vector>

namespace acp::launcher {

/// The children of a process, from /proc. Empty when it is gone.
std::vector<pid_t> children_of(pid_t process);

/// Sends the signal to every process below this one, those in `spared` and
/// what is below them excepted. Returns how many there were.
int signal_descendants(int signal, std::span<const pid_t> spared);

/// SIGKILLs and reaps until nobody is left, `spared` excepted, or the time is
/// over (a process of another user, or one in the kernel). True: all gone.
/// SIGCHLD has to be blocked.
bool end_descendants(std::span<const pid_t> spared,
                     std::chrono::milliseconds limit);

}  // namespace acp::launcher
