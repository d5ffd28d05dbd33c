// Finds the group of a rank. Called for each rank when a job is planned, and
// when a failure is described. Pure.
#include "launcher/command_group.h"

#include <algorithm>

namespace acp::launcher {

const CommandGroup& group_of(std::span<const CommandGroup> groups,
                             std::uint32_t rank) {
  const auto next =
      std::ranges::upper_bound(groups, rank, {}, &CommandGroup::first);
  return *(next - 1);
}

}  // namespace acp::launcher
