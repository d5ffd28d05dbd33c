// Tells what each rank waits for, from looks at the ranks and the roll-call.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "launcher/rank_look.h"
#include "launcher/rollcall.h"
#include "launcher/watchdog.h"

namespace acp::launcher {

/// One rank at the moment when the job failed. Plain value.
struct RankWait {
  std::uint32_t launch_rank = 0;  ///< Number at launch.
  std::uint32_t rank = 0;         ///< Present number; acp_reset changes it.
  /// "waiting in acp_sync" or "computing". "stopped by a signal (state T), "
  /// stands before that where it holds.
  std::string what;
  /// The rank that it waits for; kNoSlot where the wait is not for one rank.
  std::uint32_t peer = protocol::kNoSlot;
};

/// The wait that a look has seen. Plain value.
struct WaitedCall {
  std::string call;  ///< The function that the program called; "": no wait.
  std::uint32_t peer = protocol::kNoSlot;  ///< Rank waited for, or kNoSlot.
};

WaitedCall waited_call(const RankLook& look);

/// The public function that waits in this way (protocol::WaitKind); "" for
/// kNothing.
const char* function_of(std::uint32_t wait_kind);

/// Returns "waiting in acp_sync", "in acp_init", or "" for kNothing. `name` is
/// the function that the program called; "" where the kind of the wait names
/// it.
std::string describe_wait(std::uint32_t wait_kind,
                          const std::string& name = "");

/// Describes every rank, for the summary. `looks` may miss ranks, for example
/// those of a host that is lost; the roll-call alone describes these.
std::vector<RankWait> collect_waits(std::span<const RankLook> looks,
                                    const Rollcall& rollcall);

/// Turns looks into sights of each rank that has not exited, for the watchdog.
std::vector<RankSight> see_ranks(std::span<const RankLook> looks,
                                 const Rollcall& rollcall);

/// Returns the numbers at launch of the ranks whose processes a signal has
/// stopped.
std::vector<std::uint32_t> stopped_ranks(std::span<const RankLook> looks,
                                         const Rollcall& rollcall);

}  // namespace acp::launcher
