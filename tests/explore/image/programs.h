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

/// Starter memory that a thread's operations use. A second thread of a rank has
/// its part behind that of the first.
inline constexpr std::uint64_t kThreadBytes = 4096;

/// Where the caller's part begins.
std::uint64_t thread_offset();

/// The global address of an offset in the caller's own part.
inline acp_ga_t own_ga(std::uint64_t offset) {
  return acp_query_starter_ga(acp_rank()) + thread_offset() + offset;
}

/// The word there.
inline std::uint64_t* own_words(std::uint64_t offset) {
  return static_cast<std::uint64_t*>(acp_query_address(own_ga(offset)));
}

/// `result`, or kFailure when the call before has set acp_errno.
inline std::uint64_t unless_failed(std::uint64_t result) {
  return acp_errno == 0 ? result : kFailure;
}

}  // namespace explore
