// The watchdog notices a job that stands still: every rank waits in the
// library, and none gets any further. It does not take a job for one that waits
// for a processor.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/process_state.h"

namespace acp::launcher {

/// One look at a rank. Plain value.
struct RankSight {
  bool is_waiting = false;  ///< In a call that waits.
  bool looks = false;       ///< That call makes passes of progress.
  std::uint64_t passes = 0;
  std::uint64_t waits = 0;
  std::uint64_t arrivals = 0;
  ProcessState process;
};

/// Pure: time and sights come from the caller. Used by one thread, which alone
/// touches all fields.
///
/// While all ranks are waiting, or stopped by a signal, there are two ways to
/// stand still for the whole limit:
///  1. In no rank did a wait begin or end, and nothing arrived, although each
///     has looked. The threads that wait may spin.
///  2. Some ranks poll a lock, with naps. Few waits begin or end, and in half
///     of the sights no thread of any rank wants a processor.
/// On an overloaded machine, a rank that could go on has not looked, or wants a
/// processor. A rank that a debugger has stopped never counts as stuck.
class Watchdog {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Watchdog(std::chrono::milliseconds limit) : limit_(limit) {}

  /// Takes a sight of every rank that has not exited. Call it a few times a
  /// second. Returns true when the job has stood still for the limit.
  bool is_stuck(std::span<const RankSight> ranks, Clock::time_point now);

 private:
  /// A span of time in which the job seemed to stand still.
  struct Stretch {
    Clock::time_point since;
    std::vector<RankSight> first;
    int sights = 0;
    int calm_sights = 0;  ///< Sights in which no thread wanted a processor.
  };

  void see_no_moves(std::span<const RankSight> ranks, Clock::time_point now);
  void see_polls(std::span<const RankSight> ranks, Clock::time_point now);
  bool can_be_polls(std::span<const RankSight> ranks,
                    Clock::time_point now) const;
  bool is_silent(std::span<const RankSight> ranks, Clock::time_point now) const;
  bool is_polling(Clock::time_point now) const;

  std::chrono::milliseconds limit_;
  std::optional<Stretch> no_moves_;  ///< Way 1; empty while a rank moves.
  std::optional<Stretch> polls_;     ///< Way 2.
  std::vector<RankSight> last_;      ///< Sights of the last call.
  Clock::time_point last_time_;
};

}  // namespace acp::launcher
