// Which ranks share the host of a process, by what the launcher tells or, where
// it tells nothing, by what the ranks tell each other. Called once by the
// bootstrap under a launcher other than acprun.
#pragma once

#include "runtime/bundle_space.h"
#include "runtime/host_group.h"
#include "runtime/process_manager.h"
#include "runtime/wait_limit.h"
#include "status/result.h"

namespace acp::runtime {

/// Every rank of the job has to call it. A launcher that does not tell which
/// ranks share a host has to carry one more value of each rank, and one more
/// fence. Fails as ProcessManager::node_map() and BundleSpace do, logged.
Result<HostGroup> look_up_host(ProcessManager& manager,
                               BundleSpace& bundles,
                               const WaitLimit& limit);

}  // namespace acp::runtime
