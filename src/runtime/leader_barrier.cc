// acp_sync of ranks that do not all share a host segment: followers, leaders,
// and the progress step of a leader. Called by Sync. A wait may end early but
// may not take back that this rank has come: the next call goes on with the
// barrier.
#include "runtime/leader_barrier.h"

#include <tuple>
#include <utility>

#include "base/futex.h"
#include "gma/waiting.h"
#include "gmm/doorbell.h"
#include "runtime/barrier_sleep.h"

namespace acp::runtime {

namespace {

gma::WaitPurpose purpose_of_sync() {
  gma::WaitPurpose purpose;
  purpose.kind = protocol::WaitKind::kSync;
  purpose.look_again = kLookForDeath;
  return purpose;
}

}  // namespace

LeaderBarrier::LeaderBarrier(const protocol::HostSegment& segment,
                             std::uint32_t my_slot,
                             bool is_alone,
                             gma::Engine& engine,
                             Progress& progress,
                             transport::ThreadWaker& waker)
    : segment_(segment),
      words_(segment.header().barrier),
      progress_(progress),
      waker_(waker),
      net_barrier_(segment, engine),
      followers_(is_alone ? 0 : segment.header().local_procs - 1),
      is_leader_(is_alone || my_slot == 0) {}

Status LeaderBarrier::wait(TimePoint deadline) {
  gma::settle_stores();
  const Status status = is_leader_ ? lead(deadline) : follow(deadline);
  is_open_ = status != Status::kOk;
  return status;
}

/// A leader that has come and whose call has ended early must not hold up the
/// other ranks. So the progress thread goes on for it.
Status LeaderBarrier::lead(TimePoint deadline) {
  if (stop_step()) {
    return Status::kOk;
  }
  if (!is_open_) {
    ++number_;
  }
  while (!advance()) {
    const Status status =
        is_gathered_ ? wait_for_leader(deadline)
                     : wait_for_word(words_.gathered, words_.leader_sleeps,
                                     protocol::kNoSlot, deadline);
    if (status != Status::kOk) {
      is_step_ = progress_.add_step(advance_as_step, this) == Status::kOk;
      return status;
    }
  }
  return Status::kOk;
}

/// True: the step was running, and has seen the end of the barrier.
bool LeaderBarrier::stop_step() {
  if (std::exchange(is_step_, false)) {
    std::ignore = progress_.remove_step(advance_as_step, this);
  }
  return std::exchange(is_over_, false);
}

/// Goes on as far as it can without waiting. True when the barrier is over.
bool LeaderBarrier::advance() {
  is_gathered_ = is_gathered_ || followers_ == 0 ||
                 words_.gathered.load(std::memory_order_seq_cst) == number_;
  if (!is_gathered_ || !net_barrier_.advance()) {
    return false;
  }
  is_gathered_ = false;
  if (followers_ != 0) {
    gma::move_word(words_.epoch, words_.sleepers, number_);
  }
  return true;
}

int LeaderBarrier::advance_as_step(void* self) {
  auto& barrier = *static_cast<LeaderBarrier*>(self);
  if (!barrier.is_over_ && barrier.advance()) {
    barrier.is_over_ = true;
    return 1;
  }
  return 0;
}

Status LeaderBarrier::follow(TimePoint deadline) {
  if (!is_open_) {
    ++number_;
    arrive();
  }
  // The leader ends the barrier, and its record says what it waits for itself.
  const std::uint32_t leader =
      segment_.record(0).rank.load(std::memory_order_relaxed);
  return wait_for_word(words_.epoch, words_.sleepers, leader, deadline);
}

/// Waits until the word, which is one behind this rank's number or level with
/// it, is level. `mover` is the rank that moves it, or kNoSlot when the last of
/// several does.
Status LeaderBarrier::wait_for_word(std::atomic<std::uint32_t>& word,
                                    std::atomic<std::uint32_t>& sleepers,
                                    std::uint32_t mover,
                                    TimePoint deadline) {
  gma::WaitPurpose purpose = purpose_of_sync();
  purpose.peer = mover;
  const gma::SleepWord sleep_word{word, sleepers, number_ - 1};
  purpose.sleep_word = &sleep_word;
  return gma::wait_until(progress_, purpose, deadline, [&sleep_word] {
    return sleep_word.word.load(std::memory_order_acquire) !=
           sleep_word.expected;
  });
}

Status LeaderBarrier::wait_for_leader(TimePoint deadline) {
  gma::WaitPurpose purpose = purpose_of_sync();
  purpose.peer = net_barrier_.awaited();
  return gma::wait_until(progress_, purpose, deadline,
                         [this] { return net_barrier_.is_ready(); });
}

/// The last to come sets the count to 0 before the leader can see that it has
/// come. So no rank arrives at the next barrier before that. A leader that does
/// not sleep on the word may have left its part to the progress step, which
/// signals wake.
void LeaderBarrier::arrive() {
  const std::uint32_t arrived =
      words_.arrived.fetch_add(1, std::memory_order_acq_rel) + 1;
  if (arrived == followers_) {
    words_.arrived.store(0, std::memory_order_relaxed);
    words_.gathered.store(number_, std::memory_order_seq_cst);
    if (words_.leader_sleeps.load(std::memory_order_seq_cst) != 0) {
      futex_wake_all(words_.gathered);
    } else {
      gmm::ring_signal(segment_.slice_header(0), waker_);
    }
  }
}

}  // namespace acp::runtime
