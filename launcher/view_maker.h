// Makes the views of a job for acp_top, from looks at the ranks and the
// roll-call.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "launcher/host_ranks.h"
#include "launcher/rank_hosts.h"
#include "launcher/rank_look.h"
#include "launcher/rollcall.h"
#include "protocol/job_view.h"

namespace acp::launcher {

/// Pure: time comes from the caller. Used by the thread of the event loop,
/// which alone touches all fields.
class ViewMaker {
 public:
  using Clock = std::chrono::steady_clock;

  /// The job starts at `start`. `hosts` and `rank_hosts` must outlive this.
  ViewMaker(std::string program,
            std::uint32_t ranks,
            std::span<const HostRanks> hosts,
            const RankHosts& rank_hosts,
            Clock::time_point start);

  /// The facts about the job, without its ranks.
  protocol::JobView job(Clock::time_point now) const;

  /// The job with its ranks. `looks` may miss ranks; the roll-call alone
  /// describes these.
  protocol::JobView ranks(std::span<const RankLook> looks,
                          const Rollcall& rollcall,
                          Clock::time_point now);

 private:
  /// The wait of a rank at the latest look. Every begin and every end of a wait
  /// moves `waits` on, so an equal number means the same wait.
  struct Wait {
    std::uint64_t waits = 0;
    Clock::time_point since{};  ///< The first look that saw it.
  };

  protocol::RankView from_rollcall(const Rollcall& rollcall,
                                   std::uint32_t launch_rank) const;
  void add_look(const RankLook& look,
                Clock::time_point now,
                protocol::RankView& rank);

  const std::string program_;
  const std::uint32_t ranks_;
  const std::span<const HostRanks> hosts_;
  const RankHosts& rank_hosts_;
  const Clock::time_point start_;
  /// By number at launch. Empty until the first look, so a job without viewers
  /// pays nothing.
  std::vector<Wait> waits_;
};

}  // namespace acp::launcher
