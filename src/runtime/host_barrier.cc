#include "runtime/host_barrier.h"

#include <sched.h>

#include "base/futex.h"
#include "gma/engine.h"
#include "gmm/doorbell.h"

namespace acp::runtime {

namespace {

constexpr int kShortSpin = 256;
constexpr Duration kLookForDeath = std::chrono::milliseconds(100);

}  // namespace

HostBarrier::HostBarrier(const protocol::HostSegment& segment,
                         std::uint32_t my_slot,
                         gma::WaitHost& wait_host)
    : segment_(segment), wait_host_(wait_host), my_slot_(my_slot) {}

Status HostBarrier::wait() {
  gma::settle_stores();
  switch (segment_.header().local_procs) {
    case 1: return Status::kOk;
    case 2: return wait_for_partner();
    default: return wait_for_all();
  }
}

Status HostBarrier::wait_for_partner() {
  protocol::SliceHeader& mine = segment_.slice_header(my_slot_);
  protocol::SliceHeader& partner = segment_.slice_header(1 - my_slot_);
  const std::uint64_t epoch = ++pair_epoch_;
  // seq_cst: the store comes before the look at who sleeps.
  mine.pair_epoch.store(epoch, std::memory_order_seq_cst);
  gmm::wake_waiters(partner);
  const auto has_come = [&partner, epoch] {
    return partner.pair_epoch.load(std::memory_order_acquire) >= epoch;
  };
  if (wait_host_.policy().spin.count() > 0) {
    for (int i = 0; i < kShortSpin; ++i) {
      if (has_come()) {
        return Status::kOk;
      }
    }
  }
  gma::WaitPurpose purpose;
  purpose.kind = protocol::WaitKind::kSync;
  purpose.look_again = kLookForDeath;
  return gma::wait_until(wait_host_, purpose, TimePoint::max(), has_come);
}

Status HostBarrier::wait_for_all() {
  protocol::HostBarrier& barrier = segment_.header().barrier;
  // Nobody can move the epoch before I have arrived.
  const std::uint32_t epoch = barrier.epoch.load(std::memory_order_relaxed);
  const std::uint32_t arrived =
      barrier.arrived.fetch_add(1, std::memory_order_acq_rel) + 1;
  if (arrived == segment_.header().local_procs) {
    barrier.arrived.store(0, std::memory_order_relaxed);
    // seq_cst: the epoch comes before the look at who sleeps.
    barrier.epoch.store(epoch + 1, std::memory_order_seq_cst);
    if (barrier.sleepers.load(std::memory_order_seq_cst) != 0) {
      futex_wake_all(barrier.epoch);
    }
    return Status::kOk;
  }
  const auto is_over = [&barrier, epoch] {
    return barrier.epoch.load(std::memory_order_acquire) != epoch;
  };
  const int looks = wait_host_.policy().spin.count() > 0 ? 16 * kShortSpin : 0;
  for (int i = 0; i < looks; ++i) {
    if (is_over()) {
      return Status::kOk;
    }
  }
  for (int i = 0; i < wait_host_.policy().yields; ++i) {
    ::sched_yield();
    if (is_over()) {
      return Status::kOk;
    }
  }
  wait_host_.enter_wait(protocol::WaitKind::kSync, protocol::kNoSlot);
  Status health = Status::kOk;
  while (!is_over() && health == Status::kOk) {
    wait_host_.make_progress();
    if (wait_host_.policy().may_sleep) {
      barrier.sleepers.fetch_add(1, std::memory_order_seq_cst);
      if (!is_over()) {
        futex_wait(barrier.epoch, epoch, kLookForDeath);
      }
      barrier.sleepers.fetch_sub(1, std::memory_order_seq_cst);
    } else {
      ::sched_yield();
    }
    health = wait_host_.health();
  }
  wait_host_.leave_wait();
  return is_over() ? Status::kOk : health;
}

}  // namespace acp::runtime
