// Opens the standard descriptors of each rank: pipes to acprun, files, or
// /dev/null.
#pragma once

#include <array>
#include <vector>

#include "base/unique_fd.h"
#include "launcher/host_work.h"
#include "status/result.h"

namespace acp::launcher {

/// One rank's descriptors 0, 1 and 2, and acprun's ends of the pipes.
struct RankStreams {
  std::array<UniqueFd, 3> rank_ends;
  UniqueFd input;   ///< To the rank that reads standard input, non-blocking;
                    ///< empty for other ranks.
  UniqueFd output;  ///< Empty with --output-dir, as is `error`.
  UniqueFd error;
};

/// Opens the streams of every rank of the host. Fails with kSystem, logged.
Result<std::vector<RankStreams>> open_streams(const HostWork& work);

}  // namespace acp::launcher
