// Heartbeats of the ranks of a host. Called by Progress, once a second. It
// reads /proc only when a neighbor has been silent for the limit; it may not
// block.
#include "runtime/neighbor_watch.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/host_facts.h"
#include "base/process_state.h"

namespace acp::runtime {

namespace {

using protocol::WaitKind;

double seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

/// The facts, and what to do next.
std::string describe(std::uint32_t pid,
                     Duration silence,
                     const ProcessState& state) {
  const bool is_running = state.is_thread_running || state.are_others_running;
  const std::string next =
      state.is_stopped
          ? "a signal has stopped it (state T); see what stopped it"
          : fmt::format("{}; see where its threads are with gdb -p {}",
                        is_running
                            ? "it is stuck, or gets no processor, though "
                              "threads of it run"
                            : "it is stuck: no thread of it runs",
                        pid);
  return fmt::format(
      "its process (pid {} on {}) has shown no sign of life for {:.1f} s, and "
      "{}; ACP_UDP_SILENCE=0 waits for it",
      pid, host_name(), seconds(silence), next);
}

}  // namespace

Duration SilenceMeter::look(std::uint32_t heartbeat, TimePoint now) noexcept {
  if (heartbeat == 0 || heartbeat != heartbeat_) {
    silence_ = {};
  } else {
    silence_ += std::min(now - last_look_, kLongestLook);
  }
  heartbeat_ = heartbeat;
  last_look_ = now;
  return silence_;
}

NeighborWatch::NeighborWatch(const protocol::HostSegment& segment,
                             std::uint32_t my_slot,
                             Duration limit)
    : segment_(segment),
      heartbeat_(segment.record(my_slot).heartbeat),
      neighbor_((my_slot == 0 ? segment.header().local_procs : my_slot) - 1),
      limit_(limit) {}

/// 0 says that the heart does not beat.
void NeighborWatch::move_heartbeat() noexcept {
  const std::uint32_t next = heartbeat_.load(std::memory_order_relaxed) + 1;
  heartbeat_.store(std::max(next, 1U), std::memory_order_relaxed);
}

void NeighborWatch::end() noexcept {
  heartbeat_.store(0, std::memory_order_relaxed);
}

/// Not in acp_init: the launcher ends that wait.
bool NeighborWatch::does_any_other_wait() const noexcept {
  for (std::uint32_t slot = 0; slot < segment_.header().local_procs; ++slot) {
    const auto kind = static_cast<WaitKind>(
        segment_.record(slot).wait_kind.load(std::memory_order_relaxed));
    if (slot != neighbor_ && kind != WaitKind::kNothing &&
        kind != WaitKind::kInit) {
      return true;
    }
  }
  return false;
}

std::optional<SilentRank> NeighborWatch::look(TimePoint now) {
  const protocol::ProcRecord& record = segment_.record(neighbor_);
  const Duration silence =
      meter_.look(record.heartbeat.load(std::memory_order_relaxed), now);
  if (silence < limit_ || !does_any_other_wait()) {
    return std::nullopt;
  }
  const std::uint32_t pid = record.os_pid.load(std::memory_order_relaxed);
  const ProcessState state = state_of_process(pid, 0);
  if (state.is_traced) {
    meter_.forget();
    return std::nullopt;
  }
  if (state.are_others_running && !state.is_stopped &&
      silence < kPatience * limit_) {
    return std::nullopt;
  }
  return SilentRank{record.proc, describe(pid, silence, state)};
}

}  // namespace acp::runtime
