// The entry point of the module libacp-pmix.so.
#pragma once

#include <memory>

#include "runtime/process_manager.h"
#include "status/result.h"

namespace acp::runtime {

/// The type of connect_by_pmix(), by which libacp calls the module.
using ConnectByPmix =
    Result<std::unique_ptr<ProcessManager>>(const WaitLimit& limit);

/// The client of PMIx. kProtocol, kSystem, logged. Ends the process with status
/// 124, logged, when the launcher's server does not answer until the deadline.
ConnectByPmix connect_by_pmix;

}  // namespace acp::runtime
