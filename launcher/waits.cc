#include "launcher/waits.h"

#include <fmt/format.h>

namespace acp::launcher {

namespace {

using protocol::HostSegment;
using protocol::ProcRecord;
using protocol::WaitKind;

/// For ranks that have written nothing into the segment.
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

}  // namespace

std::string describe_wait(std::uint32_t wait_kind, std::uint32_t wait_peer) {
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
  std::string text = fmt::format("waiting in {}", call);
  if (wait_peer != protocol::kNoSlot) {
    text += fmt::format(" for rank {}", wait_peer);
  }
  return text;
}

std::vector<RankWait> collect_waits(const HostSegment& segment,
                                    const Rollcall& rollcall) {
  std::vector<RankWait> waits;
  for (std::uint32_t slot = 0; slot < segment.header().local_procs; ++slot) {
    // Relaxed: a snapshot for people; the ranks are not stopped for it.
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
                        record.wait_peer.load(std::memory_order_relaxed));
    }
    if (wait.what.empty()) {
      wait.what = describe_state(state);
    }
    waits.push_back(std::move(wait));
  }
  return waits;
}

bool all_wait(const HostSegment& segment, const Rollcall& rollcall) {
  bool any = false;
  for (std::uint32_t slot = 0; slot < segment.header().local_procs; ++slot) {
    if (rollcall.has_exited(slot)) continue;
    const RankState state = rollcall.state(slot);
    const bool waits_in_library =
        is_settled(state) &&
        segment.record(slot).wait_kind.load(std::memory_order_relaxed) !=
            static_cast<std::uint32_t>(WaitKind::kNothing);
    if (!waits_in_library && state != RankState::kAtCollective &&
        state != RankState::kAtFinalize) {
      return false;
    }
    any = true;
  }
  return any;
}

}  // namespace acp::launcher
