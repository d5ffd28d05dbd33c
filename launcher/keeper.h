// The keeper: parent of all ranks, and the one who sees to it that none of
// their processes outlives the job. docs/launcher.md says what it does when.
#pragma once

#include <span>
#include <vector>

#include "base/unique_fd.h"
#include "launcher/spawn.h"

namespace acp::launcher {

/// Runs in a process of its own, just forked; never returns. `control` is its
/// end of the control socket; every other descriptor that no request names is
/// closed, so acprun's death closes the other end.
[[noreturn]] void run_keeper(UniqueFd control,
                             std::span<const SpawnRequest> requests);

}  // namespace acp::launcher
