// What each rank is waiting for, as the host segment and the roll-call say.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launcher/rollcall.h"
#include "launcher/watchdog.h"
#include "protocol/host_segment.h"

namespace acp::launcher {

/// One rank at the moment the job failed. Plain value.
struct RankWait {
  std::uint32_t launch_rank = 0;  ///< Number at launch.
  std::uint32_t rank = 0;         ///< Now; acp_reset changes it.
  /// "waiting in acp_sync", "computing"; in front of that, when it is so,
  /// "stopped by a signal (state T), ".
  std::string what;
};

/// "waiting in acp_sync"; "" for kNothing. `name` is the function that the
/// program called, "" where the kind of the wait says it.
std::string describe_wait(std::uint32_t wait_kind,
                          std::uint32_t wait_peer,
                          const std::string& name = "");

/// Looks at every rank.
std::vector<RankWait> collect_waits(const protocol::HostSegment& segment,
                                    const Rollcall& rollcall);

/// One look of the watchdog at each rank that has not exited.
std::vector<RankSight> see_ranks(const protocol::HostSegment& segment,
                                 const Rollcall& rollcall);

/// Numbers at launch of the ranks that a signal has stopped, by their process.
std::vector<std::uint32_t> stopped_ranks(const Rollcall& rollcall,
                                         std::uint32_t ranks);

}  // namespace acp::launcher
