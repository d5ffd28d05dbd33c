// Called by Sync. Every wait may time out, and the next call then goes on in
// the same barrier.
#include "runtime/leader_barrier.h"

namespace acp::runtime {

namespace {

/// Longest sleep before the next look at the health of the job, which wakes no
/// sleeper of a rank's own process.
constexpr Duration kLookForDeath = std::chrono::milliseconds(100);

}  // namespace

LeaderBarrier::LeaderBarrier(const protocol::HostSegment& segment,
                             std::uint32_t my_slot,
                             bool is_alone,
                             gma::Engine& engine,
                             gma::WaitHost& wait_host)
    : words_(segment.header().barrier),
      wait_host_(wait_host),
      net_barrier_(segment, engine, wait_host),
      followers_(is_alone ? 0 : segment.header().local_procs - 1),
      is_leader_(is_alone || my_slot == 0) {}

Status LeaderBarrier::wait(TimePoint deadline) {
  gma::settle_stores();
  const Status status = is_leader_ ? lead(deadline) : follow(deadline);
  is_open_ = status != Status::kOk;
  return status;
}

/// After a time-out in the network `gathered` still has this barrier's number,
/// so the next call comes to the network at once.
Status LeaderBarrier::lead(TimePoint deadline) {
  if (!is_open_) {
    ++number_;
  }
  if (followers_ != 0) {
    const Status status =
        wait_until_moved(words_.gathered, words_.leader_sleeps, deadline);
    if (status != Status::kOk) {
      return status;
    }
  }
  const Status status = net_barrier_.wait(deadline);
  if (status == Status::kOk && followers_ != 0) {
    gma::move_word(words_.epoch, words_.sleepers, number_);
  }
  return status;
}

Status LeaderBarrier::follow(TimePoint deadline) {
  if (!is_open_) {
    ++number_;
    arrive();
  }
  return wait_until_moved(words_.epoch, words_.sleepers, deadline);
}

/// The last to come sets the count to 0 before the leader can see that it has
/// come, so nobody arrives at the next barrier before that.
void LeaderBarrier::arrive() {
  const std::uint32_t arrived =
      words_.arrived.fetch_add(1, std::memory_order_acq_rel) + 1;
  if (arrived == followers_) {
    words_.arrived.store(0, std::memory_order_relaxed);
    gma::move_word(words_.gathered, words_.leader_sleeps, number_);
  }
}

/// Both words are one behind this rank's number, or level with it.
Status LeaderBarrier::wait_until_moved(std::atomic<std::uint32_t>& word,
                                       std::atomic<std::uint32_t>& sleepers,
                                       TimePoint deadline) {
  const gma::SleepWord place{word, sleepers, number_ - 1};
  gma::WaitPurpose purpose;
  purpose.kind = protocol::WaitKind::kSync;
  purpose.look_again = kLookForDeath;
  purpose.sleep_word = &place;
  return gma::wait_until(wait_host_, purpose, deadline, [&place] {
    return place.word.load(std::memory_order_acquire) != place.expected;
  });
}

}  // namespace acp::runtime
