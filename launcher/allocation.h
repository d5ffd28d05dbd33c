// Finds out whether the allocation of a batch system has more than this host.
#pragma once

#include <string>

#include "settings/settings.h"

namespace acp::launcher {

/// Returns the variable that tells of several hosts, for a message:
/// "SLURM_NNODES=2", "PBS_NODEFILE has 2 hosts". Returns "" when there is one
/// host, or no batch system. `lookup` reads the environment; the function may
/// read files.
std::string allocation_of_several_hosts(const Settings::Lookup& lookup);

}  // namespace acp::launcher
