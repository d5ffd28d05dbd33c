// The keeper is the parent of all ranks. It sees to it that none of their
// processes outlives the job. docs/launcher.md has its states and messages.
#pragma once

#include <span>
#include <string>

#include "base/unique_fd.h"
#include "launcher/spawn.h"

namespace acp::launcher {

/// Runs in a process of its own, just forked, and never returns. `control` is
/// its end of the control socket. It closes every descriptor that no request
/// names, so only acprun has the other end, and acprun's death closes that.
[[noreturn]] void run_keeper(UniqueFd control,
                             std::span<const SpawnRequest> requests,
                             const std::string& copied_program);

}  // namespace acp::launcher
