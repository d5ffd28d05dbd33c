// Ranks as runs of neighbours. Called by placement, and by all who ask which
// ranks a host has. Pure.
#include "launcher/rank_runs.h"

namespace acp::launcher {

void RankRuns::append(std::uint32_t first, std::uint32_t count) {
  if (!runs_.empty() && runs_.back().first + runs_.back().count == first) {
    runs_.back().count += count;
  } else {
    runs_.push_back({first, count});
  }
}

std::vector<std::uint32_t> RankRuns::list() const {
  std::vector<std::uint32_t> ranks;
  for (const Run& run : runs_) {
    for (std::uint32_t i = 0; i < run.count; ++i)
      ranks.push_back(run.first + i);
  }
  return ranks;
}

}  // namespace acp::launcher
