// Which host a rank runs on.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "launcher/host_ranks.h"

namespace acp::launcher {

/// The host of each rank of a job. It takes the logarithm of the number of runs
/// to find one. Does not change after it was made.
class RankHosts {
 public:
  explicit RankHosts(std::span<const HostRanks> hosts);

  /// Returns the number of the rank's host. Precondition: one of the hosts has
  /// the rank.
  std::uint32_t of(std::uint32_t rank) const;

 private:
  struct Run {
    std::uint32_t first;  ///< Up to the next run.
    std::uint32_t host;
  };

  std::vector<Run> runs_;  ///< Ascending.
};

}  // namespace acp::launcher
