// Everything that ends a job because time has passed while it ran.
#pragma once

#include <chrono>
#include <optional>

#include "launcher/options.h"
#include "launcher/rollcall.h"
#include "launcher/verdict.h"
#include "launcher/waits.h"

namespace acp::launcher {

/// --timeout, --init-timeout and --watchdog. Used by one thread.
class TimeLimits {
 public:
  using Clock = std::chrono::steady_clock;

  /// The job starts now.
  explicit TimeLimits(const Options& options);

  /// To be called after every event and when next() has come.
  std::optional<Verdict> check(const protocol::HostSegment& segment,
                               const Rollcall& rollcall);

  /// When to check again; Clock::time_point::max(): after the next event.
  Clock::time_point next() const;

 private:
  std::optional<Verdict> check_watchdog(const protocol::HostSegment& segment,
                                        const Rollcall& rollcall,
                                        Clock::time_point now);
  std::optional<Verdict> check_meeting(const Rollcall& rollcall,
                                       Clock::time_point now);

  std::chrono::milliseconds timeout_;
  std::chrono::milliseconds init_timeout_;
  std::chrono::milliseconds watchdog_limit_;
  Clock::time_point started_;
  std::optional<Clock::time_point> meeting_since_;
  Watchdog watchdog_;
  Clock::time_point next_sight_;  ///< When the watchdog looks again.
};

}  // namespace acp::launcher
