// Finds the host of a rank. Called by acprun's job, by its traffic table, and
// by macprun's plan. Pure.
#include "launcher/rank_hosts.h"

#include <algorithm>
#include <iterator>

namespace acp::launcher {

RankHosts::RankHosts(std::span<const HostRanks> hosts) {
  for (const HostRanks& host : hosts) {
    for (const RankRuns::Run& run : host.ranks.runs())
      runs_.push_back({run.first, host.number});
  }
  std::ranges::sort(runs_, {}, &Run::first);
}

std::uint32_t RankHosts::of(std::uint32_t rank) const {
  return std::prev(std::ranges::upper_bound(runs_, rank, {}, &Run::first))
      ->host;
}

}  // namespace acp::launcher
