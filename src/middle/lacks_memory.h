// The question with which public functions of this layer begin.
#pragma once

#include "acp/infrastructure.h"
#include "base/memory_reserve.h"
#include "middle/log.h"

namespace acp::middle {

/// True, with acp_errno set and a line written: the system refuses memory with
/// which `function` could certainly end what it begins.
inline bool lacks_memory(const char* function) {
  if (has_memory_reserve()) {
    return false;
  }
  log_error(
      "{}: no memory: the system refuses {} bytes that ACP keeps in reserve; "
      "the call has done nothing, and may be repeated",
      function, kMemoryReserveBytes);
  acp_errno = ACPX_NO_MEMORY;
  return true;
}

}  // namespace acp::middle
