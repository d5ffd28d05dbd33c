// acp_sync of one rank. Called by the Task for the program and for modules; may
// not be called inside a progress step, because it waits.
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
      leader_barrier_(segment,
                      my_slot,
                      kind == BarrierKind::kNet,
                      engine,
                      progress,
                      waker) {}

Status Sync::barrier(TimePoint deadline) {
  return kind_ == BarrierKind::kHost ? host_barrier_.wait(deadline)
                                     : leader_barrier_.wait(deadline);
}

/// A call that cannot be met is refused before this rank arrives at the
/// barrier, so that the other ranks' barriers keep their count. Inside
/// acp_finalize the other ranks still come to the acp_sync of their modules;
/// then only ranks that are behind these count as having left.
Status Sync::wait(TimePoint deadline) {
  const std::atomic<std::uint64_t>& leaving =
      is_finalizing_ ? header_.left : header_.leaving;
  const std::uint64_t number = syncs_ + (is_open_ ? 0 : 1);
  progress_.enter_sync(number, leaving);
  Status status = progress_.sync_health();
  if (status == Status::kOk) {
    engine_.show_order_to_tsan();
    syncs_ = number;
    status = barrier(deadline);
    engine_.show_order_to_tsan();
    is_open_ = status != Status::kOk;
    has_timed_out_ = status == Status::kTimedOut;
    // A module's acp_sync in the acp_finalize of another rank may have ended
    // the barrier.
    if (status == Status::kOk && progress_.sync_health() == Status::kClosed) {
      status = Status::kClosed;
    }
  }
  if (status == Status::kClosed && !std::exchange(is_out_of_step_, true)) {
    const auto left =
        protocol::Leaving::of(leaving.load(std::memory_order_relaxed));
    log_error(
        "acp_sync, call {} of this rank: rank {} is in acp_finalize after {}; "
        "all ranks have to call it, and what calls it, equally often",
        number, left.rank, left.syncs);
  }
  return status;
}

void Sync::begin_finalize() {
  is_finalizing_ = true;
  announce(protocol::BootstrapType::kLeaving, header_.leaving);
}

void Sync::end_modules() {
  announce(protocol::BootstrapType::kLeft, header_.left);
}

void Sync::announce(protocol::BootstrapType type,
                    std::atomic<std::uint64_t>& place) {
  const protocol::Leaving mine{engine_.space().my_rank(),
                               static_cast<std::uint32_t>(syncs_)};
  mine.enter(place);
  if (!header_.is_whole_job()) {
    bootstrap_.tell_leaving(type, mine);
  }
}

}  // namespace acp::runtime
