// acp_sync of ranks that do not all share a host segment: docs/barrier.md.
#pragma once

#include <atomic>
#include <cstdint>

#include "gma/engine.h"
#include "protocol/host_segment.h"
#include "runtime/net_barrier.h"
#include "runtime/progress.h"
#include "transport/thread_waker.h"

namespace acp::runtime {

/// The ranks that share memory are a group, and the one in slot 0 is its
/// leader. The others come to their leader by the host segment, the leaders
/// meet over the network, and each releases its group. One thread of each rank
/// at a time.
class LeaderBarrier {
 public:
  /// `is_alone`: this rank shares no memory, and is a group by itself.
  LeaderBarrier(const protocol::HostSegment& segment,
                std::uint32_t my_slot,
                bool is_alone,
                gma::Engine& engine,
                Progress& progress,
                transport::ThreadWaker& waker);

  /// Returns when all ranks have called it as often as this rank. kOk, the
  /// job's health, or kTimedOut: then this rank has come, and the next call
  /// goes on with this barrier.
  Status wait(TimePoint deadline);

  /// acp_reset: ranks have changed, and the words of leaders are 0 again.
  void reset() noexcept {
    stop_step();
    net_barrier_.reset();
  }

 private:
  Status lead(TimePoint deadline);
  Status follow(TimePoint deadline);
  void arrive();
  Status wait_for_word(std::atomic<std::uint32_t>& word,
                       std::atomic<std::uint32_t>& sleepers,
                       std::uint32_t mover,
                       TimePoint deadline);
  Status wait_for_leader(TimePoint deadline);
  bool advance();
  bool stop_step();
  static int advance_as_step(void* self);

  const protocol::HostSegment& segment_;
  protocol::HostBarrier& words_;
  Progress& progress_;
  transport::ThreadWaker& waker_;
  NetBarrier net_barrier_;
  std::uint32_t followers_;  ///< Ranks of the group besides its leader.
  bool is_leader_;
  bool is_open_ = false;      ///< This rank has begun, and not seen the end.
  bool is_gathered_ = false;  ///< The leader has seen its group come.
  std::uint32_t number_ = 0;  ///< Barriers begun, modulo 2^32.
  /// A call of a leader has ended early, and advance() is a progress step.
  bool is_step_ = false;
  bool is_over_ =
      false;  ///< That step has seen the end. Guarded by ProgressSteps.
};

}  // namespace acp::runtime
