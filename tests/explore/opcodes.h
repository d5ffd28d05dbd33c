// Kinds of steps.
#pragma once

#include "acp/extension.h"

namespace explore {

/// Puts and gets: steps with a size.
inline bool is_copy(acpx_opcode_t opcode) {
  return opcode == ACPX_PUT || opcode == ACPX_GET;
}

inline bool is_atomic(acpx_opcode_t opcode) {
  return opcode >= ACPX_ADD8 && opcode <= ACPX_SWAP8;
}

}  // namespace explore
