// New numbers of the ranks. Called by Task::reset, which meets the other ranks
// between the calls; may not block. All accesses are relaxed: the launcher's
// barriers order them.
#include "runtime/renumbering.h"

#include <vector>

namespace acp::runtime {

namespace {

/// Proposed by a rank whose new number is out of range.
constexpr std::uint32_t kNoProposal = UINT32_MAX;
/// Values of HostHeader::reset_verdict.
constexpr std::uint32_t kVerdictGood = 1;
constexpr std::uint32_t kVerdictBad = 2;

}  // namespace

void Renumbering::propose(int new_rank) const noexcept {
  const std::uint32_t procs = segment_.header().procs;
  const bool is_in_range =
      new_rank >= 0 && static_cast<std::uint32_t>(new_rank) < procs;
  segment_.record(my_slot_).proposed_rank.store(
      is_in_range ? static_cast<std::uint32_t>(new_rank) : kNoProposal,
      std::memory_order_relaxed);
}

void Renumbering::decide() const {
  segment_.header().reset_verdict.store(
      is_permutation() ? kVerdictGood : kVerdictBad, std::memory_order_relaxed);
}

bool Renumbering::is_good() const noexcept {
  return segment_.header().reset_verdict.load(std::memory_order_relaxed) ==
         kVerdictGood;
}

void Renumbering::take(gmm::Rank rank, std::uint32_t my_proc) const noexcept {
  segment_.proc_of_rank()[rank].store(my_proc, std::memory_order_relaxed);
  segment_.slot_of_rank()[rank].store(my_slot_, std::memory_order_relaxed);
  segment_.record(my_slot_).rank.store(rank, std::memory_order_relaxed);
}

bool Renumbering::is_permutation() const {
  const protocol::HostHeader& header = segment_.header();
  std::vector<bool> is_taken(header.procs, false);
  for (std::uint32_t slot = 0; slot < header.local_procs; ++slot) {
    const std::uint32_t rank =
        segment_.record(slot).proposed_rank.load(std::memory_order_relaxed);
    if (rank >= header.procs || is_taken[rank]) {
      return false;
    }
    is_taken[rank] = true;
  }
  return true;
}

}  // namespace acp::runtime
