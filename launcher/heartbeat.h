// Tells when a connection has been silent for too long, and when a sign of life
// is due. Both ends of a connection between acprun and a daemon keep one, and a
// keeper keeps one for acprun or the daemon that has forked it.
#pragma once

#include <algorithm>
#include <chrono>

namespace acp::launcher {

/// Asks no clock: the caller gives the time. Used by one thread, which alone
/// reads and writes the fields.
class Heartbeat {
 public:
  using Clock = std::chrono::steady_clock;

  /// Time between two signs of life.
  static constexpr std::chrono::seconds kInterval{3};
  /// A peer that has been silent for so long counts as dead.
  static constexpr std::chrono::seconds kSilence{12};

  explicit Heartbeat(Clock::time_point now = Clock::now())
      : heard_(now), next_word_(now + kInterval) {}

  void hear(Clock::time_point now) noexcept {
    heard_ = now;
    is_paused_ = false;
  }

  /// The peer has said that it is about to be stopped.
  void pause() noexcept { is_paused_ = true; }

  /// A sign of life is due; true once for each interval. A long time between
  /// two calls means that this process was stopped, so the peer's words of that
  /// time may still wait to be read.
  bool is_word_due(Clock::time_point now) noexcept {
    if (now < next_word_) return false;
    if (now - next_word_ > kInterval) heard_ = now;
    next_word_ = now + kInterval;
    return true;
  }

  bool is_silent(Clock::time_point now) const noexcept {
    return !is_paused_ && now - heard_ >= kSilence;
  }

  Clock::time_point next() const noexcept {
    return is_paused_ ? next_word_ : std::min(next_word_, heard_ + kSilence);
  }

 private:
  Clock::time_point heard_;  ///< By hear(), and after a stop of this process.
  Clock::time_point next_word_;  ///< When a sign of life is due next.
  bool is_paused_ = false;       ///< From pause() to hear().
};

}  // namespace acp::launcher
