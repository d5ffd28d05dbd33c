// Barriers in the host segment. Called by Sync; sleeps only on the words of the
// barrier.
#include "runtime/host_barrier.h"

#include <algorithm>

#include "base/clock.h"
#include "gma/engine.h"
#include "runtime/barrier_sleep.h"

namespace acp::runtime {

namespace {

/// Looks before a rank marks itself as waiting. They take about as long as two
/// ranks need that come at the same time (142 to 162 ns). So such a barrier
/// marks nothing.
constexpr int kShortSpin = 256;

bool has_moved(const gma::SleepWord& sleep_word) {
  return sleep_word.word.load(std::memory_order_acquire) != sleep_word.expected;
}

}  // namespace

HostBarrier::HostBarrier(const protocol::HostSegment& segment,
                         std::uint32_t my_slot,
                         gma::WaitHost& wait_host)
    : segment_(segment), wait_host_(wait_host), my_slot_(my_slot) {}

Status HostBarrier::wait(TimePoint deadline) {
  gma::settle_stores();
  Status status = Status::kOk;
  switch (segment_.header().local_procs) {
    case 1: break;
    case 2: status = wait_for_partner(deadline); break;
    default: status = wait_for_all(deadline); break;
  }
  is_open_ = status != Status::kOk;
  return status;
}

/// The partner's epoch is looked at only after this rank's has moved: both
/// words move by one for each barrier.
Status HostBarrier::wait_for_partner(TimePoint deadline) {
  protocol::PairBarrier& mine = segment_.slice_header(my_slot_).pair;
  protocol::PairBarrier& partner = segment_.slice_header(1 - my_slot_).pair;
  if (!is_open_) {
    ++pair_epoch_;
    gma::move_word(mine.epoch, mine.sleepers, pair_epoch_);
  }
  // The partner is one barrier behind this rank, or level with it, or one
  // ahead.
  return wait_on({partner.epoch, partner.sleepers, pair_epoch_ - 1}, deadline);
}

/// Counts this rank; the last rank to come ends the barrier for all. Returns
/// the epoch that is over then. Ranks that may yield learn when that was.
std::uint32_t HostBarrier::arrive(protocol::HostBarrier& barrier) {
  // No rank can move the epoch before this rank has arrived.
  const std::uint32_t epoch = barrier.epoch.load(std::memory_order_relaxed);
  const std::uint32_t arrived =
      barrier.arrived.fetch_add(1, std::memory_order_acq_rel) + 1;
  if (arrived == segment_.header().local_procs) {
    barrier.arrived.store(0, std::memory_order_relaxed);
    if (wait_host_.policy().yields) {
      barrier.ended_ns.store(wait_host_.now().time_since_epoch().count(),
                             std::memory_order_relaxed);
    }
    gma::move_word(barrier.epoch, barrier.sleepers, epoch + 1);
  }
  return epoch;
}

Status HostBarrier::wait_for_all(TimePoint deadline) {
  protocol::HostBarrier& barrier = segment_.header().barrier;
  if (!is_open_) {
    epoch_ = arrive(barrier);
  }
  const gma::SleepWord sleep_word{barrier.epoch, barrier.sleepers, epoch_};
  return wait_host_.policy().has_core()
             ? wait_on(sleep_word, deadline)
             : wait_sharing_core(sleep_word, deadline);
}

/// Looks, then spins on progress, then sleeps, as every other wait does.
Status HostBarrier::wait_on(const gma::SleepWord& sleep_word,
                            TimePoint deadline) {
  const int looks = wait_host_.policy().has_core() ? kShortSpin : 0;
  for (int i = 0; i < looks; ++i) {
    if (has_moved(sleep_word)) {
      return Status::kOk;
    }
  }
  gma::WaitPurpose purpose;
  purpose.kind = protocol::WaitKind::kSync;
  purpose.look_again = kLookForDeath;
  purpose.sleep_word = &sleep_word;
  return gma::wait_until(wait_host_, purpose, deadline,
                         [&sleep_word] { return has_moved(sleep_word); });
}

/// Yields, then sleeps. It does not spin as other waits do: more than two ranks
/// on fewer cores wait for a rank that needs this core.
Status HostBarrier::wait_sharing_core(const gma::SleepWord& sleep_word,
                                      TimePoint deadline) {
  if (has_moved(sleep_word)) {
    return Status::kOk;
  }
  ++waits_;
  const bool may_yield =
      wait_host_.policy().yields &&
      (!turns_.is_banned() || turns_.may_yield(wait_host_.now()));
  return may_yield && yield_until_moved(sleep_word)
             ? Status::kOk
             : sleep_until_moved(sleep_word, deadline);
}

/// Yields for as long as other waits spin: a rank that is alone on its core has
/// it back at once, while the ranks of another core take turns. True when the
/// barrier is over. The time is first read after the second yield, because most
/// waits end before that.
bool HostBarrier::yield_until_moved(const gma::SleepWord& sleep_word) {
  TimePoint until = TimePoint::max();
  for (int yields = 1; !has_moved(sleep_word); ++yields) {
    wait_host_.yield_core();
    if (yields == 2) {
      until = wait_host_.now() + wait_host_.policy().spin;
    } else if (yields > 2 && wait_host_.now() >= until) {
      return has_moved(sleep_word);
    }
  }
  const TimePoint now = wait_host_.now();
  const Duration ended(
      segment_.header().barrier.ended_ns.load(std::memory_order_relaxed));
  turns_.ran_again(now, now.time_since_epoch() - ended);
  return true;
}

/// Makes a pass before each sleep: the progress thread serves peers meanwhile,
/// and it begins after what this pass has left.
Status HostBarrier::sleep_until_moved(const gma::SleepWord& sleep_word,
                                      TimePoint deadline) {
  const bool may_sleep = wait_host_.policy().may_sleep;
  wait_host_.enter_wait(protocol::WaitKind::kSync, protocol::kNoSlot);
  Status status = Status::kOk;
  while (!has_moved(sleep_word) && status == Status::kOk) {
    wait_host_.make_progress();
    const Duration left = deadline - wait_host_.now();
    if (may_sleep) {
      ++sleeps_;
      wait_host_.sleep_on(sleep_word,
                          std::clamp(left, Duration::zero(), kLookForDeath));
    } else {
      wait_host_.yield_core();
    }
    status = wait_host_.sync_health();
    if (status == Status::kOk && left <= Duration::zero()) {
      status = Status::kTimedOut;
    }
  }
  wait_host_.leave_wait();
  return has_moved(sleep_word) ? Status::kOk : status;
}

}  // namespace acp::runtime
