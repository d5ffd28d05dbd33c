// Decides which rank runs on which host: by the node file, --host, the
// allocation of a batch system, or all on this host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "launcher/early_exit.h"
#include "launcher/host_ranks.h"
#include "launcher/nodefile.h"
#include "launcher/options.h"
#include "settings/settings.h"

namespace acp::launcher {

/// Places the ranks, and sets `options.procs` where it is not given. The hosts
/// are in the order of their first ranks; every name of this host is one host.
/// `lookup` reads the environment.
OrExit<std::vector<HostRanks>> place_ranks(Options& options,
                                           const Settings::Lookup& lookup);

/// The next ranks of a job, which are on one node. Plain value.
struct NodeShare {
  std::size_t node = 0;     ///< Index in the list of nodes.
  std::uint32_t ranks = 0;  ///< Their number, 1 or more.

  bool operator==(const NodeShare&) const = default;
};

/// Fills the nodes with ranks in order, and begins again at the first node when
/// all are full. Precondition: there is a node. Pure.
std::vector<NodeShare> fill_nodes(std::span<const Node> nodes,
                                  std::uint32_t ranks);

/// Divides the ranks evenly among so many nodes, neighbours together. A node
/// without a rank has no share. Precondition: there is a node. Pure.
std::vector<NodeShare> share_evenly(std::size_t nodes, std::uint32_t ranks);

}  // namespace acp::launcher
