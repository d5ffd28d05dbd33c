// Tells whether acprun was itself stopped, or stuck, for so long that other
// hosts have ended their parts of the job. Then their ends are no failures of
// theirs. job.cc asks it for its verdict.
#pragma once

#include <chrono>
#include <optional>

#include "launcher/heartbeat.h"

namespace acp::launcher {

/// Pure: the caller gives the time. Used by the thread of the event loop, which
/// alone touches all fields.
class OwnStop {
 public:
  using Clock = Heartbeat::Clock;

  /// The others count from the last word, which may have been so much earlier
  /// than the stop.
  static constexpr auto kShortest = Heartbeat::kSilence - Heartbeat::kInterval;
  /// The ends of the others are known so soon after the stop.
  static constexpr std::chrono::seconds kAftermath{3};

  explicit OwnStop(Clock::time_point now = Clock::now()) : last_turn_(now) {}

  /// Call it whenever the process runs, at next() at the latest, and before it
  /// takes an event. A time of kShortest between two calls was a stop.
  void note_turn(Clock::time_point now) noexcept {
    if (now - last_turn_ >= kShortest) {
      lasted_ = now - last_turn_;
      ended_ = now;
    }
    last_turn_ = now;
  }

  /// A process without events has to run here, or else it seems to be stopped.
  Clock::time_point next() const noexcept {
    return last_turn_ + Heartbeat::kInterval;
  }

  /// The stop until now was announced to the others, who wait for this process.
  void forgive(Clock::time_point now) noexcept { last_turn_ = now; }

  /// How long this process was stopped, if that is the cause of an end that is
  /// known now.
  std::optional<Clock::duration> cause_at(
      Clock::time_point now) const noexcept {
    if (lasted_ == Clock::duration::zero() || now - ended_ > kAftermath) {
      return std::nullopt;
    }
    return lasted_;
  }

 private:
  Clock::time_point last_turn_;
  // The last stop. Its length is zero if there was none.
  Clock::time_point ended_{};
  Clock::duration lasted_{};
};

}  // namespace acp::launcher
