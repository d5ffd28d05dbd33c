// The functions by which the explorer uses the code of a rank.
#include <cstring>
#include <initializer_list>

#include "acp/malloc.h"
#include "explore/image/programs.h"
#include "middle/modules.h"

extern "C" {

/// The number of this thread on its rank. The loader knows where a thread has
/// the variables of an object once a variable was looked up.
thread_local int explore_thread_variable = 0;

int explore_add_modules(int (*add)(const acpx_module_t*)) {
  return acp::middle::add_modules(add);
}

explore::Program* explore_program(const char* structure) {
  if (std::strcmp(structure, "deque") == 0) return explore::deque_program();
  if (std::strcmp(structure, "map") == 0) return explore::map_program();
  if (std::strcmp(structure, "vector") == 0) return explore::vector_program();
  if (std::strcmp(structure, "list") == 0) return explore::list_program();
  if (std::strcmp(structure, "malloc") == 0) return explore::malloc_program();
  if (std::strcmp(structure, "channel") == 0) return explore::channel_program();
  if (std::strcmp(structure, "set") == 0) return explore::set_program();
  if (std::strcmp(structure, "workspace") == 0) {
    return explore::workspace_program();
  }
  return nullptr;
}

void explore_begin_thread(int number) {
  explore_thread_variable = number;
}

void explore_warm_up(void) {
  for (int rank = 0; rank < acp_procs(); ++rank) {
    for (const std::size_t bytes : {64, 256}) {
      acp_free(acp_malloc(bytes, rank));
    }
  }
}

void explore_trim(void) {
  (void)acpx_trim_malloc();
}

int explore_is_heap_free(int rank, std::size_t bytes) {
  const acp_ga_t all = acp_malloc(bytes, rank);
  acp_free(all);
  return all != ACP_GA_NULL ? 1 : 0;
}

}  // extern "C"

namespace explore {

std::uint64_t thread_offset() {
  return static_cast<std::uint64_t>(explore_thread_variable) * kThreadBytes;
}

}  // namespace explore
