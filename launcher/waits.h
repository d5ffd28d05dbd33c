// What each rank is waiting for, as the host segment and the roll-call say.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launcher/rollcall.h"
#include "protocol/host_segment.h"

namespace acp::launcher {

/// One rank at the moment the job failed. Plain value.
struct RankWait {
  std::uint32_t launch_rank = 0;  ///< Number at launch.
  std::uint32_t rank = 0;         ///< Now; acp_reset changes it.
  std::string what;               ///< "waiting in acp_sync", "computing".
};

/// A word like "waiting in acp_sync"; "" for kNothing.
std::string describe_wait(std::uint32_t wait_kind, std::uint32_t wait_peer);

/// Looks at every rank.
std::vector<RankWait> collect_waits(const protocol::HostSegment& segment,
                                    const Rollcall& rollcall);

/// True when every rank that has not exited is inside a waiting call.
bool all_wait(const protocol::HostSegment& segment, const Rollcall& rollcall);

}  // namespace acp::launcher
