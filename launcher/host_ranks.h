// Which ranks of a job run on which host.
#pragma once

#include <cstdint>
#include <string>

#include "launcher/rank_runs.h"

namespace acp::launcher {

/// One host of a job. Its number is its index in the list of the job's hosts.
/// Plain value.
struct HostRanks {
  std::uint32_t number = 0;
  std::string name;
  bool is_local = false;  ///< The host that acprun runs on.
  RankRuns ranks;
};

}  // namespace acp::launcher
