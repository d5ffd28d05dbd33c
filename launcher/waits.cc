// Judges looks at the ranks. Called by job.cc for the summary and by TimeLimits
// for the watchdog. Pure.
#include "launcher/waits.h"

#include <fmt/core.h>

#include <charconv>
#include <string_view>

namespace acp::launcher {

namespace {

using protocol::WaitKind;

/// Describes a rank whose record in the segment says no wait.
std::string describe_state(RankState state) {
  switch (state) {
    case RankState::kStarted: return "not in acp_init yet";
    case RankState::kGreeted:
    case RankState::kInInit: return "in acp_init";
    case RankState::kRunning: return "computing";
    case RankState::kAtCollective: return "waiting in acp_reset";
    case RankState::kAtFinalize:
    case RankState::kLeaving: return "waiting in acp_finalize";
    case RankState::kFinalized: return "past acp_finalize";
  }
  return "computing";
}

bool is_settled(RankState state) {
  return state == RankState::kRunning;
}

/// Returns why the process does not run at all; "" when it may run.
std::string describe_halt(const ProcessState& process) {
  return process.is_stopped  ? "stopped by a signal (state T), "
         : process.is_traced ? "held by a debugger (state t), "
                             : "";
}

/// The name of a wait may end with the rank that it is for: "acp_wait_ch
/// (receive) for rank 3" becomes the first part, and 3. Otherwise nothing
/// changes. So waits for several ranks share a line of the summary.
void split_name(std::string& name, std::uint32_t& peer) {
  constexpr std::string_view kFor = " for rank ";
  const std::size_t at = name.rfind(kFor);
  if (at == std::string::npos) return;
  std::uint32_t rank = 0;
  const char* end = name.data() + name.size();
  const auto [rest, failure] =
      std::from_chars(name.data() + at + kFor.size(), end, rank);
  if (failure != std::errc{} || rest != end) return;
  peer = rank;
  name.resize(at);
}

bool is_wait(std::uint32_t wait_kind) {
  return wait_kind != static_cast<std::uint32_t>(WaitKind::kNothing);
}

}  // namespace

const char* function_of(std::uint32_t wait_kind) {
  switch (static_cast<WaitKind>(wait_kind)) {
    case WaitKind::kNothing: return "";
    case WaitKind::kInit: return "acp_init";
    case WaitKind::kSync: return "acp_sync";
    case WaitKind::kComplete: return "acp_complete";
    case WaitKind::kWord: return "acpx_wait_word";
    case WaitKind::kCondition: return "acpx_wait_until";
    case WaitKind::kReset: return "acp_reset";
    case WaitKind::kFinalize: return "acp_finalize";
  }
  return "";
}

WaitedCall waited_call(const RankLook& look) {
  if (!is_wait(look.wait_kind)) return {};
  WaitedCall wait{look.wait_name, look.wait_peer};
  split_name(wait.call, wait.peer);
  if (wait.call.empty()) wait.call = function_of(look.wait_kind);
  return wait;
}

/// A name is there where one kind of wait serves several functions.
std::string describe_wait(std::uint32_t wait_kind, const std::string& name) {
  if (!is_wait(wait_kind)) return "";
  // A rank whose acp_init has failed also shows kInit, until it exits.
  const bool is_init = wait_kind == static_cast<std::uint32_t>(WaitKind::kInit);
  return fmt::format("{}in {}", is_init ? "" : "waiting ",
                     name.empty() ? function_of(wait_kind) : name.c_str());
}

/// The roll-call describes each rank first. A look then replaces that for a
/// rank that has settled in the job. About a rank that joins or leaves, the
/// roll-call says more than its wait word. "Stopped" stands in front of either.
std::vector<RankWait> collect_waits(std::span<const RankLook> looks,
                                    const Rollcall& rollcall) {
  std::vector<RankWait> waits(rollcall.size());
  for (std::uint32_t rank = 0; rank < waits.size(); ++rank) {
    waits[rank].launch_rank = rank;
    waits[rank].rank = rank;
    waits[rank].what = rollcall.has_exited(rank)
                           ? "gone"
                           : describe_state(rollcall.state(rank));
  }
  for (const RankLook& look : looks) {
    RankWait& wait = waits[look.launch_rank];
    wait.rank = look.rank;
    if (rollcall.has_exited(look.launch_rank)) continue;
    const WaitedCall seen = waited_call(look);
    if (!seen.call.empty() && is_settled(rollcall.state(look.launch_rank))) {
      wait.what = describe_wait(look.wait_kind, seen.call);
      wait.peer = seen.peer;
    }
    wait.what.insert(0, describe_halt(look.process));
  }
  return waits;
}

/// The roll-call decides whether the look counts: a rank that joins or leaves
/// may have an old wait word.
std::vector<RankSight> see_ranks(std::span<const RankLook> looks,
                                 const Rollcall& rollcall) {
  std::vector<RankSight> sights;
  for (const RankLook& look : looks) {
    if (rollcall.has_exited(look.launch_rank)) continue;
    const RankState state = rollcall.state(look.launch_rank);
    RankSight sight;
    sight.looks =
        is_settled(state) &&
        look.wait_kind != static_cast<std::uint32_t>(WaitKind::kNothing);
    // In acp_reset and acp_finalize a rank waits for acprun's answer.
    sight.is_waiting = sight.looks || state == RankState::kAtCollective ||
                       state == RankState::kAtFinalize;
    sight.passes = look.passes;
    sight.waits = look.waits;
    sight.arrivals = look.arrivals;
    sight.process = look.process;
    sights.push_back(sight);
  }
  return sights;
}

std::vector<std::uint32_t> stopped_ranks(std::span<const RankLook> looks,
                                         const Rollcall& rollcall) {
  std::vector<std::uint32_t> stopped;
  for (const RankLook& look : looks) {
    if (!rollcall.has_exited(look.launch_rank) && look.process.is_stopped) {
      stopped.push_back(look.launch_rank);
    }
  }
  return stopped;
}

}  // namespace acp::launcher
