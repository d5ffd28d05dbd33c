// Rounds of the barrier over transports. Called by Sync; every wait may time
// out, and the next call then goes on in the same round.
#include "runtime/net_barrier.h"

#include <atomic>

namespace acp::runtime {

namespace {

/// Longest sleep before the next look at the health of the job. The words are
/// added to with a signal, which wakes this rank.
constexpr Duration kNextLook = std::chrono::milliseconds(100);

}  // namespace

NetBarrier::NetBarrier(gma::Engine& engine,
                       gma::WaitHost& wait_host,
                       const protocol::HostHeader& header)
    : engine_(engine),
      wait_host_(wait_host),
      words_offset_(header.module_offset) {}

/// A rank that is ahead by one barrier may have added to a word twice: words
/// count up and are compared with the epoch, and never cleared.
Status NetBarrier::wait(TimePoint deadline) {
  gma::settle_stores();
  const gmm::AddressSpace& space = engine_.space();
  const std::uint64_t ranks = space.codec().procs();
  if (round_ == 0 && !has_told_) {
    ++epoch_;
  }
  for (; (std::uint64_t{1} << round_) < ranks; ++round_, has_told_ = false) {
    const std::uint64_t distance = std::uint64_t{1} << round_;
    if (!has_told_) {
      tell(static_cast<gmm::Rank>((space.my_rank() + distance) % ranks),
           round_);
      has_told_ = true;
    }
    auto& word = *reinterpret_cast<std::uint64_t*>(
        space.my_slice() + words_offset_ + round_ * sizeof(std::uint64_t));
    gma::WaitPurpose purpose;
    purpose.kind = protocol::WaitKind::kSync;
    purpose.peer =
        static_cast<gmm::Rank>((space.my_rank() + ranks - distance) % ranks);
    purpose.look_again = kNextLook;
    const Status status = gma::wait_until(
        wait_host_, purpose, deadline,
        [&word, this] { return std::atomic_ref(word).load() >= epoch_; });
    if (status != Status::kOk) {
      return status;
    }
  }
  round_ = 0;
  return Status::kOk;
}

void NetBarrier::tell(gmm::Rank rank, std::size_t round) {
  gma::Step step;
  step.opcode = protocol::Opcode::kAdd;
  step.flags = protocol::kSignalFlag;
  step.operand = 1;
  step.remote = engine_.space().codec().encode(rank, 0, gmm::kModuleKey, 0,
                                               round * sizeof(std::uint64_t));
  engine_.run_locked([&] { engine_.start_internal({&step, 1}); });
}

}  // namespace acp::runtime
