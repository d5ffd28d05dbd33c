// Finds and ends every process below the calling one. The caller is a
// subreaper: the kernel gives it orphans as children, so no process gets away.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <span>
#include <vector>

namespace acp::launcher {

/// Lists the children of a process from /proc; empty when it is gone.
std::vector<pid_t> children_of(pid_t process);

/// Sends the signal to every process below this one, except those in `spared`
/// and the processes below them. Returns how many processes it found.
int signal_descendants(int signal, std::span<const pid_t> spared);

/// The name that a keeper gives its process (PR_SET_NAME).
inline constexpr const char* kKeeperName = "acprun-keeper";

/// The usual limit of end_descendants().
inline constexpr std::chrono::milliseconds kKillLimit{5000};

/// How long end_descendants() leaves a keeper alone whose daemon is gone. The
/// keeper needs this time to clean up and to kill its own ranks.
inline constexpr std::chrono::milliseconds kOrphanLimit{2000};

/// Kills and reaps all processes below this one, except those in `spared`.
/// Keepers end by themselves within kOrphanLimit, except `own_keeper` (0:
/// none), which is killed at once; docs/launcher.md, "The end of a keeper".
/// Returns true when all are gone, false after `limit`, which begins when no
/// keeper is left alone any more. A process may belong to another user or hang
/// in the kernel. SIGCHLD has to be blocked.
bool end_descendants(std::span<const pid_t> spared,
                     std::chrono::milliseconds limit,
                     pid_t own_keeper);

}  // namespace acp::launcher
