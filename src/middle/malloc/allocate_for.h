// Allocation from a heap for the other parts of the middle layer.
#pragma once

#include <cstddef>

#include "acp/global_memory.h"

namespace acp::middle {

/// Does what acp_malloc does, on behalf of the public function `function`.
/// Errors name that function, because the program has called it.
acp_ga_t allocate_for(const char* function, std::size_t size, int rank);

}  // namespace acp::middle
