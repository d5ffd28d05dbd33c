// A wait of this layer fails only at the end of the job or in a progress step.
// Every other failure that it reports is of the program's own operations,
// because a wait covers all that was issued before.
#pragma once

#include "acp/infrastructure.h"

namespace acp::middle {

/// Whether a code of acp_errno says that the job is ending, or that the caller
/// is a progress step.
inline bool is_end_of_job(int code) {
  return code == ACPX_PEER_DEAD || code == ACPX_ABORTED ||
         code == ACPX_NOT_INITIALIZED || code == ACPX_FINALIZED ||
         code == ACPX_AGAIN;
}

}  // namespace acp::middle
