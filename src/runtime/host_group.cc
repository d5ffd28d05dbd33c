// Sorts the ranks of a job by hosts. Called once by a rank that another
// launcher than acprun has started. Pure, so all ranks of a host find one
// leader.
#include "runtime/host_group.h"

#include <unordered_set>

namespace acp::runtime {

HostGroup group_of(const NodeMap& map, std::uint32_t rank) {
  HostGroup group;
  std::unordered_set<std::uint32_t> seen;
  for (std::uint32_t other = 0; other < map.size(); ++other) {
    const bool is_leader = seen.insert(map[other]).second;
    if (map[other] == map[rank]) {
      group.ranks.push_back(other);
    } else if (is_leader) {
      group.others.push_back(other);
    }
  }
  group.leader = group.ranks.front();
  return group;
}

}  // namespace acp::runtime
