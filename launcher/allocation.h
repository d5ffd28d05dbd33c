// The allocation of a batch system: whether it has more hosts than this one.
#pragma once

#include <string>

#include "settings/settings.h"

namespace acp::launcher {

/// The variable that tells of several hosts, for a message: "SLURM_NNODES=2",
/// "PBS_NODEFILE has 2 hosts". "" when there is one host, or no batch system.
/// `lookup` reads the environment.
std::string allocation_of_several_hosts(const Settings::Lookup& lookup);

}  // namespace acp::launcher
