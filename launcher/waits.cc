// Reads the ranks' records in the host segment. Called by job.cc for the
// summary and by TimeLimits for the watchdog; changes nothing.
#include "launcher/waits.h"

#include <fmt/format.h>

namespace acp::launcher {

namespace {

using protocol::HostSegment;
using protocol::ProcRecord;
using protocol::WaitKind;

/// Describes a rank whose record in the segment says no wait.
std::string describe_state(RankState state) {
  switch (state) {
    case RankState::kStarted: return "not in acp_init yet";
    case RankState::kGreeted:
    case RankState::kInInit: return "waiting in acp_init";
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
std::string describe_halt(std::uint32_t pid) {
  const ProcessState process = state_of_process(pid, 0);
  return process.is_stopped  ? "stopped by a signal (state T), "
         : process.is_traced ? "held by a debugger (state t), "
                             : "";
}

}  // namespace

std::string describe_wait(std::uint32_t wait_kind,
                          std::uint32_t wait_peer,
                          const std::string& name) {
  const char* call = "";
  switch (static_cast<WaitKind>(wait_kind)) {
    case WaitKind::kNothing: return "";
    case WaitKind::kInit: call = "acp_init"; break;
    case WaitKind::kSync: call = "acp_sync"; break;
    case WaitKind::kComplete: call = "acp_complete"; break;
    case WaitKind::kWord: call = "acpx_wait_word"; break;
    case WaitKind::kCondition: call = "acpx_wait_until"; break;
    case WaitKind::kReset: call = "acp_reset"; break;
    case WaitKind::kFinalize: call = "acp_finalize"; break;
  }
  std::string text =
      fmt::format("waiting in {}", name.empty() ? call : name.c_str());
  if (wait_peer != protocol::kNoSlot) {
    text += fmt::format(" for rank {}", wait_peer);
  }
  return text;
}

std::vector<RankWait> collect_waits(const HostSegment& segment,
                                    const Rollcall& rollcall) {
  std::vector<RankWait> waits;
  for (std::uint32_t slot = 0; slot < segment.header().local_procs; ++slot) {
    // Relaxed: this is a snapshot for people, while the ranks go on.
    const ProcRecord& record = segment.record(slot);
    RankWait wait;
    wait.launch_rank = slot;
    wait.rank = record.rank.load(std::memory_order_relaxed);
    const RankState state = rollcall.state(slot);
    if (rollcall.has_exited(slot)) {
      wait.what = "gone";
    } else if (is_settled(state)) {
      wait.what =
          describe_wait(record.wait_kind.load(std::memory_order_relaxed),
                        record.wait_peer.load(std::memory_order_relaxed),
                        record.wait_name.get());
    }
    if (wait.what.empty()) {
      wait.what = describe_state(state);
    }
    if (!rollcall.has_exited(slot)) {
      wait.what.insert(0, describe_halt(rollcall.pid(slot)));
    }
    waits.push_back(std::move(wait));
  }
  return waits;
}

std::vector<RankSight> see_ranks(const HostSegment& segment,
                                 const Rollcall& rollcall) {
  std::vector<RankSight> sights;
  for (std::uint32_t slot = 0; slot < segment.header().local_procs; ++slot) {
    if (rollcall.has_exited(slot)) continue;
    // Relaxed: the watchdog compares several looks, while the ranks go on.
    const ProcRecord& record = segment.record(slot);
    const RankState state = rollcall.state(slot);
    RankSight sight;
    sight.looks =
        is_settled(state) && record.wait_kind.load(std::memory_order_relaxed) !=
                                 static_cast<std::uint32_t>(WaitKind::kNothing);
    // In acp_reset and acp_finalize a rank waits for acprun's answer.
    sight.is_waiting = sight.looks || state == RankState::kAtCollective ||
                       state == RankState::kAtFinalize;
    sight.passes = record.passes.load(std::memory_order_relaxed);
    sight.waits = record.waits.load(std::memory_order_relaxed);
    sight.arrivals = record.arrivals.load(std::memory_order_relaxed);
    sight.process = state_of_process(
        rollcall.pid(slot), record.wait_thread.load(std::memory_order_relaxed));
    sights.push_back(sight);
  }
  return sights;
}

std::vector<std::uint32_t> stopped_ranks(const Rollcall& rollcall,
                                         std::uint32_t ranks) {
  std::vector<std::uint32_t> stopped;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    if (!rollcall.has_exited(rank) &&
        state_of_process(rollcall.pid(rank), 0).is_stopped) {
      stopped.push_back(rank);
    }
  }
  return stopped;
}

}  // namespace acp::launcher
