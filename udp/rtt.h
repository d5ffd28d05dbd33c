// Round-trip time of a stream and the time-outs that follow from it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.h"

namespace acp::udp {

/// A time-out exceeds the smoothed round trip by at least this.
inline constexpr Duration kMinRto = std::chrono::milliseconds(5);
/// A process that shares its core was seen to stall for 8 to 36 ms.
inline constexpr Duration kMinRtoOversubscribed = std::chrono::milliseconds(20);
/// And with many ranks to a core by a time slice for each of them, twice: the
/// peer waits for its turn to answer, and this process for its own.
inline constexpr Duration kCoreTurns = std::chrono::milliseconds(8);
/// Ranks per core from which on a round trip is mostly the wait for a core.
/// With fewer, losses are repaired faster when each stream keeps to its own.
inline constexpr std::uint32_t kCoreBoundRanks = 8;
/// Doubling ends here, where the measured round trip allows it.
inline constexpr Duration kMaxBackoff = std::chrono::seconds(1);
/// However long the round trip is.
inline constexpr Duration kMaxRto = std::chrono::seconds(3);
/// Until something has been measured.
inline constexpr Duration kInitialRto = std::chrono::milliseconds(20);

inline Duration rto_floor(std::uint32_t ranks_per_core) noexcept {
  return ranks_per_core <= 1
             ? kMinRto
             : std::clamp<Duration>(kCoreTurns * ranks_per_core,
                                    kMinRtoOversubscribed, kMaxBackoff);
}

/// Smoothed round-trip time and its mean deviation (RFC 6298: gains 1/8 and
/// 1/4). Samples come from echoed transmission numbers, so a retransmission
/// is never mistaken for its original. A plain value.
class RttEstimator {
 public:
  void add_sample(Duration sample) noexcept {
    sample = std::max(sample, Duration(1));
    if (smoothed_ == Duration::zero()) {
      smoothed_ = sample;
      deviation_ = sample / 2;
      return;
    }
    const Duration error =
        sample > smoothed_ ? sample - smoothed_ : smoothed_ - sample;
    deviation_ += (error - deviation_) / 4;
    smoothed_ += (sample - smoothed_) / 8;
  }

  /// A fragment was sent again before the answer to its earlier transmission
  /// came, after `sample`: the time-out starts anew from that, if it is longer
  /// (RFC 4015, section 3.4).
  void widen(Duration sample) noexcept {
    smoothed_ = std::max(smoothed_, sample);
    deviation_ = std::max(deviation_, sample / 2);
  }

  bool has_sample() const noexcept { return smoothed_ != Duration::zero(); }

  Duration smoothed() const noexcept { return smoothed_; }

  /// smoothed + 4 x deviation, at least smoothed + floor: deviations of a
  /// steady path decay to nothing, and then every ack would come too late.
  Duration rto(Duration floor) const noexcept {
    return has_sample()
               ? std::min(smoothed_ + std::max(4 * deviation_, floor), kMaxRto)
               : std::max(kInitialRto, floor);
  }

 private:
  Duration smoothed_{};
  Duration deviation_{};
};

/// About the longest of the round trips that the streams of a process have
/// seen lately: rises at once, and falls by 1/64 with each shorter one. A plain
/// value.
class LongestRtt {
 public:
  void add_sample(Duration sample) noexcept {
    longest_ = std::max(sample, longest_ - (longest_ - sample) / 64);
  }

  /// Another process may have to wait for a core as long as this one had to.
  void add_stall(Duration stall) noexcept {
    longest_ = std::max(longest_, stall);
  }

  /// Twice the longest, at least `floor`.
  Duration rto(Duration floor) const noexcept {
    return std::min(std::max(2 * longest_, floor), kMaxRto);
  }

 private:
  Duration longest_{};
};

/// `rto` doubled `doublings` times, but not past kMaxBackoff.
inline Duration backed_off(Duration rto, std::uint32_t doublings) noexcept {
  return std::min(rto * (std::int64_t{1} << std::min(doublings, 20U)),
                  std::max(rto, kMaxBackoff));
}

}  // namespace acp::udp
