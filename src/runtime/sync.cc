// acp_sync of one rank, and the barriers with which acp_reset begins. Called by
// the Task for the program and for modules; may not be called inside a progress
// step, because it waits.
#include "runtime/sync.h"

#include <utility>

#include "base/log.h"

namespace acp::runtime {

Sync::Sync(const protocol::HostSegment& segment,
           std::uint32_t my_slot,
           BarrierKind kind,
           gma::Engine& engine,
           Progress& progress,
           transport::ThreadWaker& waker,
           Bootstrap& bootstrap)
    : header_(segment.header()),
      engine_(engine),
      progress_(progress),
      bootstrap_(bootstrap),
      kind_(kind),
      host_barrier_(segment, my_slot, progress),
      leader_barrier_(
          segment, my_slot, kind == BarrierKind::kNet, engine, progress, waker),
      watch_(header_.absences) {}

Status Sync::barrier(TimePoint deadline) {
  return kind_ == BarrierKind::kHost ? host_barrier_.wait(deadline)
                                     : leader_barrier_.wait(deadline);
}

/// Two barriers: a rank whose acp_sync has met the first one learns it there,
/// and tells it before it comes to the second one. After an acp_sync has met an
/// acp_reset, this rank comes to no barrier. Another rank, whose acp_reset has
/// the number that it would tell, would take it for one of its own call. That
/// rank would wait for ever.
Status Sync::begin_reset() {
  if (has_sync_met_reset_) {
    return Status::kClosed;
  }
  const std::uint64_t before = barriers_;
  watch_.begin_reset(next_barrier());
  enter_absence(protocol::AbsenceKind::kResetting, next_barrier());
  Status status = wait(TimePoint::max());
  if (status == Status::kOk) {
    status = wait(TimePoint::max());
  }
  watch_.end_reset();
  of_resets_ += barriers_ - before;
  return status;
}

/// A call that cannot be met is refused before this rank arrives at the
/// barrier, so that the other ranks' barriers keep their count.
Status Sync::wait(TimePoint deadline) {
  if (has_sync_met_reset_ && !watch_.is_finalizing()) {
    return Status::kClosed;
  }
  const std::uint64_t number = next_barrier();
  watch_.enter(number);
  progress_.enter_sync(watch_);
  Status status = progress_.sync_health();
  if (status == Status::kOk) {
    engine_.show_order_to_tsan();
    barriers_ = number;
    status = barrier(deadline);
    engine_.show_order_to_tsan();
    is_open_ = status != Status::kOk;
    has_timed_out_ = status == Status::kTimedOut;
    // A module's acp_sync in the acp_finalize of another rank, or an acp_reset,
    // may have ended the barrier.
    if (status == Status::kOk && progress_.sync_health() == Status::kClosed) {
      status = Status::kClosed;
    }
  }
  if (status == Status::kClosed) {
    has_timed_out_ = false;  // No call can go on with that barrier.
    // An absence once found is found again.
    if (const auto absence = watch_.find()) note_absence(*absence);
  }
  return status;
}

/// Ranks in the acp_reset that this rank has missed have to hear of it. The
/// first absence is logged; those that follow come from it.
void Sync::note_absence(const protocol::Absence& absence) {
  if (absence.kind == protocol::AbsenceKind::kResetting) {
    enter_absence(protocol::AbsenceKind::kBesideReset, absence.barrier);
  }
  has_sync_met_reset_ = has_sync_met_reset_ ||
                        absence.kind == protocol::AbsenceKind::kResetting ||
                        absence.kind == protocol::AbsenceKind::kBesideReset;
  if (!std::exchange(is_out_of_step_, true)) {
    log_absence(absence);
  }
}

/// Sleeps and lost turns tell the two ways apart in which ranks that share
/// cores can wait (host_barrier.cc).
void Sync::log_counts() const {
  const HostBarrier::Counts counts = host_barrier_.counts();
  if (counts.waits != 0) {
    log(LogLevel::kInfo,
        "acp_sync: {} barriers; the ranks of this host share cores, and this "
        "rank waited in {}, slept {} times, and lost its turn on the core {} "
        "times to another program",
        barriers_, counts.waits, counts.sleeps, counts.lost_turns);
  }
}

/// A user counts calls of acp_sync, so barriers of acp_reset are left out. This
/// rank has had as many of them as the other one.
void Sync::log_absence(const protocol::Absence& absence) const {
  constexpr const char* kRule =
      "all ranks have to call acp_sync and acp_reset, and what calls them, "
      "equally often and in the same order";
  const bool is_reset = watch_.call() == BarrierCall::kReset;
  const bool is_leaving = absence.kind == protocol::AbsenceKind::kLeaving ||
                          absence.kind == protocol::AbsenceKind::kLeft;
  const std::uint64_t call = watch_.barrier() - of_resets_;
  if (is_reset && is_leaving) {
    log_error("acp_reset: rank {} is in acp_finalize; {}", absence.rank, kRule);
  } else if (is_reset) {
    log_error("acp_reset: rank {} is in acp_sync, or in another acp_reset; {}",
              absence.rank, kRule);
  } else if (is_leaving) {
    log_error(
        "acp_sync, call {} of this rank: rank {} is in acp_finalize after {}; "
        "{}",
        call, absence.rank,
        absence.barrier - static_cast<std::uint32_t>(of_resets_), kRule);
  } else {
    log_error("acp_sync, call {} of this rank: rank {} is in acp_reset; {}",
              call, absence.rank, kRule);
  }
}

void Sync::begin_finalize() {
  watch_.begin_finalize();
  enter_absence(protocol::AbsenceKind::kLeaving, barriers_);
}

void Sync::end_modules() {
  enter_absence(protocol::AbsenceKind::kLeft, barriers_);
}

/// No rank writes the word before the next acp_reset. acprun has carried it to
/// all hosts before it let this rank go on. Under another launcher HostWatch
/// enters no number of another host that comes later.
void Sync::note_met_in_reset() noexcept {
  header_.absences.clear_resetting();
}

/// The launcher hears of an absence that changes the words of this host. It
/// also hears of each acp_reset whose number differs from theirs, because it
/// compares the numbers.
void Sync::enter_absence(protocol::AbsenceKind kind, std::uint64_t barrier) {
  const protocol::Absence absence{kind, engine_.space().my_rank(),
                                  static_cast<std::uint32_t>(barrier)};
  const bool is_new = header_.absences.enter(absence);
  const bool differs =
      kind == protocol::AbsenceKind::kResetting &&
      protocol::Absence::of(header_.absences.get(kind)).barrier !=
          absence.barrier;
  if ((is_new || differs) && !header_.is_whole_job()) {
    bootstrap_.tell_absence(absence);
  }
}

}  // namespace acp::runtime
