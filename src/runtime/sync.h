// acp_sync: the barrier, how often this rank has come to it, and ranks that do
// not come to it because they are in another call. acp_reset begins with it.
#pragma once

#include <cstdint>

#include "gma/engine.h"
#include "protocol/host_segment.h"
#include "runtime/absence_watch.h"
#include "runtime/bootstrap.h"
#include "runtime/host_barrier.h"
#include "runtime/leader_barrier.h"
#include "runtime/progress.h"

namespace acp::runtime {

/// Where the ranks of the job meet. Fixed for the whole job.
enum class BarrierKind : std::uint8_t {
  kHost,     ///< All in one host segment.
  kLeaders,  ///< In that of each host, and the leaders over the network.
  kNet,      ///< All over the network: no rank shares memory.
};

/// One thread of a rank at a time.
class Sync {
 public:
  /// The arguments must outlive this.
  Sync(const protocol::HostSegment& segment,
       std::uint32_t my_slot,
       BarrierKind kind,
       gma::Engine& engine,
       Progress& progress,
       transport::ThreadWaker& waker,
       Bootstrap& bootstrap);

  /// Returns when all ranks have called it as often as this rank. kTimedOut:
  /// the next call goes on with this barrier. kClosed, logged: a rank is in
  /// acp_finalize without having come to it, or in acp_reset. Otherwise the
  /// host's health.
  [[nodiscard]] Status wait(TimePoint deadline);

  /// acp_reset begins. Returns when all ranks have called it; then no rank is
  /// in acp_sync or acp_finalize. kClosed, logged: a rank is. Otherwise the
  /// host's health.
  [[nodiscard]] Status begin_reset();

  /// All ranks have come to the launcher in acp_reset.
  void note_met_in_reset() noexcept;

  /// acp_finalize begins. From here on only modules call wait().
  void begin_finalize();
  /// The modules have ended: this rank never calls wait() again.
  void end_modules();

  /// A call has found that a rank is in another one.
  bool is_out_of_step() const noexcept { return is_out_of_step_; }

  /// The last call of wait() timed out: the other ranks still count on this
  /// rank to go on with that barrier.
  bool has_timed_out() const noexcept { return has_timed_out_; }

  /// Logs at level info how the barriers of a host have gone.
  void log_counts() const;

  /// acp_reset, between two barriers of the launcher.
  void reset() noexcept { leader_barrier_.reset(); }

 private:
  Status barrier(TimePoint deadline);
  void note_absence(const protocol::Absence& absence);
  void log_absence(const protocol::Absence& absence) const;
  void enter_absence(protocol::AbsenceKind kind, std::uint64_t barrier);

  std::uint64_t next_barrier() const noexcept {
    return barriers_ + (is_open_ ? 0 : 1);
  }

  // The constructor alone writes these five.
  protocol::HostHeader& header_;
  gma::Engine& engine_;
  Progress& progress_;
  Bootstrap& bootstrap_;
  BarrierKind kind_;
  HostBarrier host_barrier_;
  LeaderBarrier leader_barrier_;
  AbsenceWatch watch_;
  // The thread that is in acp_sync, acp_reset or acp_finalize writes these
  // fields. The program has one such thread at a time, so no lock guards them.
  /// Barriers that this rank has begun. Written by wait().
  std::uint64_t barriers_ = 0;
  /// How many of barriers_ were acp_reset's. Written by begin_reset().
  std::uint64_t of_resets_ = 0;
  /// The last one has not seen its end. Written by wait().
  bool is_open_ = false;
  /// It was left open by its time limit. Written by wait().
  bool has_timed_out_ = false;
  /// One call was kClosed. Set by note_absence().
  bool is_out_of_step_ = false;
  /// An acp_sync and an acp_reset have met. Barriers of the ranks may differ by
  /// one from then on, so all calls before acp_finalize fail. Set by
  /// note_absence().
  bool has_sync_met_reset_ = false;
};

}  // namespace acp::runtime
