// The entry of the module libacp-pmix.so.
#pragma once

#include <memory>

#include "base/result.h"
#include "runtime/process_manager.h"

namespace acp::runtime {

/// The type of connect_by_pmix(), by which libacp calls the module.
using ConnectByPmix =
    Result<std::unique_ptr<ProcessManager>>(const WaitLimit& limit);

/// The client of PMIx. Waits as long as PMIx_Init does. kProtocol, kSystem,
/// logged.
ConnectByPmix connect_by_pmix;

}  // namespace acp::runtime
