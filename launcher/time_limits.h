// The limits that end a job because time has passed.
#pragma once

#include <chrono>
#include <optional>
#include <span>

#include "launcher/options.h"
#include "launcher/rollcall.h"
#include "launcher/verdict.h"
#include "launcher/waits.h"

namespace acp::launcher {

/// Keeps --timeout, --init-timeout and --watchdog. Used by the thread of the
/// event loop, which alone touches all fields.
class TimeLimits {
 public:
  using Clock = std::chrono::steady_clock;

  /// The job starts when this is constructed.
  explicit TimeLimits(const Options& options);

  /// Returns a verdict when a limit has passed. Call it after every event and
  /// at the time next().
  std::optional<Verdict> check(const Rollcall& rollcall);

  /// Whether it is time for the watchdog's next look at the ranks. True once;
  /// the caller then calls see() as soon as it has looks of all hosts.
  bool is_look_due();

  /// Gives the watchdog a look at every rank.
  std::optional<Verdict> see(std::span<const RankLook> looks,
                             const Rollcall& rollcall);

  /// The time of the next check without an event; Clock::time_point::max() when
  /// an event is enough.
  Clock::time_point next() const;

 private:
  std::optional<Verdict> check_meeting(const Rollcall& rollcall,
                                       Clock::time_point now);

  std::chrono::milliseconds timeout_;
  std::chrono::milliseconds init_timeout_;
  std::chrono::milliseconds watchdog_limit_;
  Clock::time_point started_;
  /// Time at which check() first saw a rank in acp_init; empty while none is.
  std::optional<Clock::time_point> meeting_since_;
  Watchdog watchdog_;
  Clock::time_point next_sight_;  ///< Time of the watchdog's next look.
};

}  // namespace acp::launcher
