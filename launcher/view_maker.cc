// Puts together what a viewer sees of a rank. Called by job.cc for each look
// that a viewer has asked for. Pure.
#include "launcher/view_maker.h"

#include <unistd.h>

#include <utility>

#include "launcher/waits.h"

namespace acp::launcher {

namespace {

using protocol::JobView;
using protocol::RankStage;
using protocol::RankView;

std::uint64_t milliseconds_between(ViewMaker::Clock::time_point begin,
                                   ViewMaker::Clock::time_point end) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(end - begin)
          .count());
}

RankStage stage_of(RankState state) {
  return state == RankState::kStarted     ? RankStage::kStarting
         : state == RankState::kFinalized ? RankStage::kFinished
                                          : RankStage::kRunning;
}

/// The call in which a rank waits for acprun; "" for another state. The rank's
/// wait word is older than that.
const char* call_of(RankState state) {
  switch (state) {
    case RankState::kGreeted:
    case RankState::kInInit: return "acp_init";
    case RankState::kAtCollective: return "acp_reset";
    case RankState::kAtFinalize:
    case RankState::kLeaving: return "acp_finalize";
    default: return "";
  }
}

}  // namespace

ViewMaker::ViewMaker(std::string program,
                     std::uint32_t ranks,
                     std::span<const HostRanks> hosts,
                     const RankHosts& rank_hosts,
                     Clock::time_point start)
    : program_(std::move(program)),
      ranks_(ranks),
      hosts_(hosts),
      rank_hosts_(rank_hosts),
      start_(start) {}

JobView ViewMaker::job(Clock::time_point now) const {
  JobView view;
  view.acprun_pid = static_cast<std::uint32_t>(::getpid());
  view.procs = ranks_;
  view.program = program_;
  view.age_ms = milliseconds_between(start_, now);
  return view;
}

RankView ViewMaker::from_rollcall(const Rollcall& rollcall,
                                  std::uint32_t launch_rank) const {
  RankView rank;
  rank.launch_rank = launch_rank;
  rank.rank = launch_rank;
  rank.host = rank_hosts_.of(launch_rank);
  rank.pid = rollcall.pid(launch_rank);
  if (rollcall.has_exited(launch_rank)) {
    rank.stage = RankStage::kEnded;
    return rank;
  }
  rank.stage = stage_of(rollcall.state(launch_rank));
  rank.call = call_of(rollcall.state(launch_rank));
  return rank;
}

/// A rank that has ended keeps its last counts. It waits for nothing, although
/// its record may say so.
void ViewMaker::add_look(const RankLook& look,
                         Clock::time_point now,
                         RankView& rank) {
  Wait& wait = waits_[look.launch_rank];
  if (wait.since == Clock::time_point{} || wait.waits != look.waits) {
    wait = {look.waits, now};
  }
  rank.was_seen = true;
  rank.rank = look.rank;
  rank.waits = look.waits;
  rank.arrivals = look.arrivals;
  rank.traffic = look.traffic;
  if (rank.stage == RankStage::kEnded) return;
  rank.core = look.process.core;
  rank.is_stopped = look.process.is_stopped || look.process.is_traced;
  rank.is_running = look.process.is_thread_running;
  if (rank.stage == RankStage::kRunning && rank.call.empty()) {
    WaitedCall seen = waited_call(look);
    rank.call = std::move(seen.call);
    rank.peer = seen.peer;
  }
  if (!rank.call.empty()) {
    rank.waited_ms = milliseconds_between(wait.since, now);
  }
}

JobView ViewMaker::ranks(std::span<const RankLook> looks,
                         const Rollcall& rollcall,
                         Clock::time_point now) {
  JobView view = job(now);
  for (const HostRanks& host : hosts_)
    view.hosts.push_back(host.name);
  if (ranks_ > protocol::kMostViewRanks) return view;
  waits_.resize(ranks_);
  for (std::uint32_t rank = 0; rank < ranks_; ++rank)
    view.ranks.push_back(from_rollcall(rollcall, rank));
  for (const RankLook& look : looks)
    add_look(look, now, view.ranks[look.launch_rank]);
  return view;
}

}  // namespace acp::launcher
