// Which ranks share the host of a rank, and which of them stands for the host
// towards the others.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/node_map.h"

namespace acp::runtime {

/// The hosts of a job, as one rank sees them. The first rank of a host is its
/// leader: it makes the host segment, and speaks for the host. A plain value.
struct HostGroup {
  std::uint32_t leader = 0;          ///< Leader of this rank's host.
  std::vector<std::uint32_t> ranks;  ///< Ranks of this host, ascending.
  std::vector<std::uint32_t>
      others;  ///< Leaders of the other hosts, ascending.

  bool is_whole_job() const noexcept { return others.empty(); }
};

/// Pure. `map` has the host of every rank of the job.
HostGroup group_of(const NodeMap& map, std::uint32_t rank);

}  // namespace acp::runtime
