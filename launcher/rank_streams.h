// The standard descriptors of each rank: pipes to acprun, files, /dev/null.
#pragma once

#include <array>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "launcher/plan.h"

namespace acp::launcher {

/// One rank's descriptors 0, 1, 2, and acprun's ends of those that are pipes.
struct RankStreams {
  std::array<UniqueFd, 3> rank_ends;
  UniqueFd input;   ///< Rank 0 only, non-blocking; else empty.
  UniqueFd output;  ///< Empty with --output-dir, as is the next.
  UniqueFd error;
};

/// Opens the streams of every rank; kSystem, logged.
Result<std::vector<RankStreams>> open_streams(const JobPlan& plan);

}  // namespace acp::launcher
