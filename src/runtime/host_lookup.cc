// Asks the launcher, and otherwise all ranks, for the hosts of the ranks.
// Called by bootstrap_join.cc alone.
#include "runtime/host_lookup.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "runtime/job_record.h"
#include "runtime/node_map.h"

namespace acp::runtime {

namespace {

std::string home_key(std::uint32_t rank) {
  return fmt::format("acp-home-{}", rank);
}

/// Two ranks share a host when the host's name and the identity of its boot
/// are equal. The numbers of the hosts are in the order of their lowest
/// ranks, as in a map that a launcher gives.
Result<NodeMap> ask_for_homes(ProcessManager& manager,
                              BundleSpace& bundles,
                              const WaitLimit& limit) {
  const HostRecord own = describe_this_host("");
  Status status = bundles.put(home_key(manager.rank()),
                              own.host_name + "\n" + own.boot, limit);
  if (status == Status::kOk) {
    status = bundles.fence(FenceValues::kToAllHosts, limit);
  }
  NodeMap map;
  std::vector<std::string> homes;
  for (std::uint32_t rank = 0; status == Status::kOk && rank < manager.size();
       ++rank) {
    const auto home = bundles.get(rank, home_key(rank), limit);
    if (!home.ok()) {
      return home.status();
    }
    const auto found = std::ranges::find(homes, *home);
    map.push_back(static_cast<std::uint32_t>(found - homes.begin()));
    if (found == homes.end()) {
      homes.push_back(*home);
    }
  }
  return status == Status::kOk ? Result(std::move(map)) : status;
}

}  // namespace

Result<HostGroup> look_up_host(ProcessManager& manager,
                               BundleSpace& bundles,
                               const WaitLimit& limit) {
  auto map = manager.node_map(limit);
  if (map.ok() && map->size() != manager.size()) {
    map = ask_for_homes(manager, bundles, limit);
  }
  if (!map.ok()) {
    return map.status();
  }
  return group_of(*map, manager.rank());
}

}  // namespace acp::runtime
