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
  segment_.published(my_proc_).proposal.store(
      is_in_range ? static_cast<std::uint32_t>(new_rank) : kNoProposal,
      std::memory_order_relaxed);
}

/// Every host computes the same verdict, from the same records.
void Renumbering::decide() const {
  if (my_slot_ == 0) {
    segment_.header().reset_verdict.store(
        is_permutation() ? kVerdictGood : kVerdictBad,
        std::memory_order_relaxed);
  }
}

bool Renumbering::is_good() const noexcept {
  return segment_.header().reset_verdict.load(std::memory_order_relaxed) ==
         kVerdictGood;
}

void Renumbering::take() const noexcept {
  segment_.record(my_slot_).rank.store(proposal_of(my_proc_),
                                       std::memory_order_relaxed);
  if (my_slot_ != 0) {
    return;
  }
  for (std::uint32_t proc = 0; proc < segment_.header().procs; ++proc) {
    const std::uint32_t rank = proposal_of(proc);
    segment_.proc_of_rank()[rank].store(proc, std::memory_order_relaxed);
    segment_.slot_of_rank()[rank].store(segment_.slot_of_proc(proc),
                                        std::memory_order_relaxed);
  }
}

bool Renumbering::is_permutation() const {
  const std::uint32_t procs = segment_.header().procs;
  std::vector<bool> is_taken(procs, false);
  for (std::uint32_t proc = 0; proc < procs; ++proc) {
    const std::uint32_t rank = proposal_of(proc);
    if (rank >= procs || is_taken[rank]) {
      return false;
    }
    is_taken[rank] = true;
  }
  return true;
}

std::uint32_t Renumbering::proposal_of(std::uint32_t proc) const noexcept {
  return segment_.published(proc).proposal.load(std::memory_order_relaxed);
}

}  // namespace acp::runtime
