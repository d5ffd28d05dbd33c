// Rounds of the barrier over transports. Called by LeaderBarrier. Nothing here
// waits: advance() goes on in the same round when it is called again.
#include "runtime/net_barrier.h"

#include <atomic>

namespace acp::runtime {

NetBarrier::NetBarrier(const protocol::HostSegment& segment,
                       gma::Engine& engine)
    : segment_(segment), engine_(engine) {}

void NetBarrier::reset() noexcept {
  knows_partners_ = false;
  rounds_.clear();
  epoch_ = 0;
  round_ = 0;
  has_told_ = false;
}

/// Each process has published its leader before the job began, and all hosts
/// have the same table of ranks.
void NetBarrier::find_partners() {
  const gmm::AddressSpace& space = engine_.space();
  std::vector<gmm::Rank> ring;
  std::size_t mine = 0;
  for (gmm::Rank rank = 0; rank < space.codec().procs(); ++rank) {
    const std::uint32_t proc =
        segment_.proc_of_rank()[rank].load(std::memory_order_relaxed);
    if (segment_.published(proc).leader.load(std::memory_order_relaxed) ==
        proc) {
      mine = rank == space.my_rank() ? ring.size() : mine;
      ring.push_back(rank);
    }
  }
  const std::size_t size = ring.size();
  for (std::size_t distance = 1; distance < size; distance *= 2) {
    rounds_.push_back({ring[(mine + distance) % size],
                       ring[(mine + size - distance) % size]});
  }
  knows_partners_ = true;
}

/// A leader that is ahead by one barrier may have added to a word twice. So
/// words count up, are compared with the epoch, and are never cleared.
bool NetBarrier::is_ready() const {
  return std::atomic_ref(words()[round_]).load() >= epoch_;
}

bool NetBarrier::advance() {
  if (!knows_partners_) {
    find_partners();
  }
  for (; round_ < rounds_.size(); ++round_, has_told_ = false) {
    if (!has_told_) {
      epoch_ += round_ == 0 ? 1 : 0;
      tell(rounds_[round_].next, round_);
      has_told_ = true;
    }
    if (!is_ready()) {
      return false;
    }
  }
  round_ = 0;
  return true;
}

std::uint64_t* NetBarrier::words() const {
  return reinterpret_cast<std::uint64_t*>(engine_.space().my_slice() +
                                          segment_.header().module_offset);
}

void NetBarrier::tell(gmm::Rank rank, std::size_t round) {
  gma::Step step;
  step.opcode = protocol::Opcode::kAdd;
  step.flags = protocol::kSignalFlag;
  step.operand = 1;
  step.remote = engine_.space().codec().encode(rank, 0, gmm::kModuleKey, 0,
                                               round * sizeof(std::uint64_t));
  engine_.run_locked([&] { engine_.start_internal(step); });
}

}  // namespace acp::runtime
