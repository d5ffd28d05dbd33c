// The exec shim prepares a rank's process before its program runs. The keeper
// calls it once for each rank.
#pragma once

#include <sys/types.h>

#include <atomic>

#include "base/host_facts.h"
#include "launcher/signals.h"

namespace acp::launcher {

/// Number of the bootstrap socket's descriptor in the rank.
inline constexpr int kBootstrapFd = 3;

enum class SpawnStage : int { kNone, kDescriptors, kDirectory, kExec };

/// A shim that fails writes the reason here. This is memory that it shares with
/// the keeper, because not every vfork shares all memory.
struct SpawnFailure {
  std::atomic<SpawnStage> stage;
  std::atomic<int> error;
};

/// Prepared before the keeper exists. What it points to lives until spawn
/// returns.
struct SpawnRequest {
  const char* path = nullptr;
  char* const* words = nullptr;        ///< argv, null-terminated.
  char* const* environment = nullptr;  ///< Null-terminated.
  const char* directory = nullptr;     ///< nullptr: that of acprun.
  int standard[3] = {-1, -1, -1};      ///< Become descriptors 0, 1, 2.
  int bootstrap = -1;                  ///< Becomes kBootstrapFd.
  const CpuMask* cpus = nullptr;       ///< nullptr: unbound.
  const InheritedState* inherited = nullptr;
  SpawnFailure* failure = nullptr;
};

/// Starts one rank as a child of the calling process, in a process group of its
/// own. The kernel kills it when the caller dies. Returns its process id, or
/// -errno when there is no new process. A shim that fails exits with 127.
pid_t spawn(const SpawnRequest& request);

}  // namespace acp::launcher
