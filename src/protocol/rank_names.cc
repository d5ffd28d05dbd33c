// Looks up the rank of a process for a message. Called by transports, agents
// and the runtime when they write a line; it changes nothing.
#include "protocol/rank_names.h"

#include <fmt/core.h>

namespace acp::protocol {

/// Most often the rank is the process number, so this looks there first. While
/// acp_reset rewrites the table a process may be missing in it; then its
/// process number stands for the rank.
std::string name_of_proc(const HostSegment& segment, std::uint32_t proc) {
  const std::uint32_t procs = segment.header().procs;
  const auto is_of = [&segment, proc](std::uint32_t rank) {
    // Relaxed: it is only shown to the user.
    return segment.proc_of_rank()[rank].load(std::memory_order_relaxed) == proc;
  };
  if (proc < procs && !is_of(proc)) {
    for (std::uint32_t rank = 0; rank < procs; ++rank) {
      if (is_of(rank)) {
        return fmt::format("rank {} (started as rank {})", rank, proc);
      }
    }
  }
  return fmt::format("rank {}", proc);
}

}  // namespace acp::protocol
