// The exec shim: what happens in a rank's process before its program runs.
#pragma once

#include <sys/types.h>

#include <atomic>

#include "base/host_facts.h"
#include "launcher/signals.h"

namespace acp::launcher {

/// The rank's end of the bootstrap socket has this number in the rank.
inline constexpr int kBootstrapFd = 3;

enum class SpawnStep : int { kNone, kDescriptors, kDirectory, kExec };

/// Where a shim that fails says why; in memory that it shares with its
/// parent, because not every vfork does.
struct SpawnFailure {
  std::atomic<SpawnStep> step;
  std::atomic<int> error;
};

/// Prepared before the keeper exists; everything lives until spawn returns.
struct SpawnRequest {
  const char* path = nullptr;
  char* const* words = nullptr;        ///< argv, null-terminated.
  char* const* environment = nullptr;  ///< Null-terminated.
  const char* directory = nullptr;     ///< nullptr: stay.
  int standard[3] = {-1, -1, -1};      ///< Become descriptors 0, 1, 2.
  int bootstrap = -1;                  ///< Becomes kBootstrapFd.
  const CpuMask* cpus = nullptr;       ///< nullptr: unbound.
  const InheritedState* inherited = nullptr;
  SpawnFailure* failure = nullptr;
};

/// Starts one rank as a child of the calling process: own process group,
/// killed by the kernel when the caller dies. Returns its id, or -errno when
/// there is no new process. A shim that fails exits with 127.
pid_t spawn(const SpawnRequest& request);

}  // namespace acp::launcher
