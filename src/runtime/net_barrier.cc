#include "runtime/net_barrier.h"

#include <atomic>

namespace acp::runtime {

namespace {

constexpr Duration kLookForDeath = std::chrono::milliseconds(100);

}  // namespace

NetBarrier::NetBarrier(gma::Engine& engine,
                       gma::WaitHost& wait_host,
                       const protocol::HostHeader& header)
    : engine_(engine),
      wait_host_(wait_host),
      words_offset_(header.module_offset) {}

Status NetBarrier::wait() {
  gma::settle_stores();
  const gmm::AddressSpace& space = engine_.space();
  const std::uint32_t ranks = space.codec().procs();
  ++epoch_;
  std::size_t round = 0;
  for (std::uint32_t distance = 1; distance < ranks; distance *= 2) {
    const gmm::Rank to = static_cast<gmm::Rank>(
        (std::uint64_t{space.my_rank()} + distance) % ranks);
    const gmm::Rank from = (space.my_rank() + ranks - distance % ranks) % ranks;
    gma::Step step;
    step.opcode = protocol::Opcode::kAdd;
    step.flags = protocol::kSignalFlag;
    step.operand = 1;
    step.remote = space.codec().encode(to, 0, gmm::kModuleKey, 0,
                                       round * sizeof(std::uint64_t));
    engine_.run_locked([&] { engine_.start_internal({&step, 1}); });

    auto& word = *reinterpret_cast<std::uint64_t*>(
        space.my_slice() + words_offset_ + round * sizeof(std::uint64_t));
    gma::WaitPurpose purpose;
    purpose.kind = protocol::WaitKind::kSync;
    purpose.peer = from;
    purpose.look_again = kLookForDeath;
    const Status status = gma::wait_until(
        wait_host_, purpose, TimePoint::max(),
        [&word, this] { return std::atomic_ref(word).load() >= epoch_; });
    if (status != Status::kOk) {
      return status;
    }
    ++round;
  }
  return Status::kOk;
}

}  // namespace acp::runtime
