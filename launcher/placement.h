// Decides which rank runs on which host: by the node file, --host, the
// allocation of a batch system, or all on this host.
#pragma once

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

/// Fills the nodes with ranks in order, and begins again at the first node when
/// all are full. Precondition: there is a node. Returns the node of each rank.
/// Pure.
std::vector<std::size_t> fill_nodes(std::span<const Node> nodes,
                                    std::uint32_t ranks);

/// Divides the ranks evenly among so many hosts, neighbours together. Returns
/// the host of each rank. Pure.
std::vector<std::size_t> share_evenly(std::size_t hosts, std::uint32_t ranks);

}  // namespace acp::launcher
