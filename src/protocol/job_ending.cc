// Ends a job in its host segment. Called by acprun and its daemons, and by the
// ranks themselves under another launcher. It ends no process.
#include "protocol/job_ending.h"

#include "base/futex.h"

namespace acp::protocol {

/// The state changes before any word that a sleeper waits on. Each doorbell
/// changes before its wake, so a rank that is about to sleep on the old value
/// does not.
bool end_job(const HostSegment& segment) noexcept {
  HostHeader& header = segment.header();
  // Release: pairs with the acquire load of a rank that looks after waking up.
  const auto before = header.job_state.exchange(
      static_cast<std::uint32_t>(JobState::kEnding), std::memory_order_acq_rel);
  for (std::uint32_t slot = 0; slot < header.local_procs; ++slot) {
    SliceHeader& slice = segment.slice_header(slot);
    slice.doorbell.fetch_add(1, std::memory_order_release);
    futex_wake_all(slice.doorbell);
    futex_wake_all(slice.pair.epoch);
  }
  futex_wake_all(header.barrier.gathered);
  futex_wake_all(header.barrier.epoch);
  return before != static_cast<std::uint32_t>(JobState::kEnding);
}

bool is_ending(const HostSegment& segment) noexcept {
  return segment.header().job_state.load(std::memory_order_acquire) ==
         static_cast<std::uint32_t>(JobState::kEnding);
}

}  // namespace acp::protocol
