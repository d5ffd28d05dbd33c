// The programs of a rank, one for each kind of structure.
#pragma once

#include <cstdint>

#include "acp/extension.h"
#include "explore/program.h"

namespace explore {

Program* deque_program();
Program* map_program();
Program* vector_program();
Program* list_program();
Program* malloc_program();
Program* channel_program();
Program* set_program();
Program* workspace_program();

/// The word at an offset of the caller's own starter memory.
inline std::uint64_t* own_words(std::uint64_t offset) {
  return static_cast<std::uint64_t*>(
      acp_query_address(acp_query_starter_ga(acp_rank()) + offset));
}

/// Its global address.
inline acp_ga_t own_ga(std::uint64_t offset) {
  return acp_query_starter_ga(acp_rank()) + offset;
}

/// `result`, or kFailure when the call before has set acp_errno.
inline std::uint64_t unless_failed(std::uint64_t result) {
  return acp_errno == 0 ? result : kFailure;
}

}  // namespace explore
