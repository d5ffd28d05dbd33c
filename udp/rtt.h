// Round-trip time of a stream and the time-outs computed from it. Plain values
// and pure functions, used by Sender.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.h"

namespace acp::udp {

/// Minimum by which a time-out exceeds the smoothed round trip.
inline constexpr Duration kMinRto = std::chrono::milliseconds(5);
/// Minimum where ranks share cores: such a process was seen to stall for 8 to
/// 36 ms.
inline constexpr Duration kMinRtoOversubscribed = std::chrono::milliseconds(20);
/// Minimum per rank of a core, where many share it: two time slices. The peer
/// waits for its turn to answer, and this process for its own.
inline constexpr Duration kCoreTurns = std::chrono::milliseconds(8);
/// With this many ranks per core, a round trip is mostly the wait for a core,
/// so all streams share one estimate. With fewer, losses are repaired faster
/// when each stream uses its own.
inline constexpr std::uint32_t kCoreBoundRanks = 8;
/// Doubling a time-out stops here, unless the RTO itself is longer.
inline constexpr Duration kMaxBackoff = std::chrono::seconds(1);
/// Longest RTO, however long the round trip is.
inline constexpr Duration kMaxRto = std::chrono::seconds(3);
/// RTO before anything has been measured.
inline constexpr Duration kInitialRto = std::chrono::milliseconds(20);

/// The least by which a time-out exceeds the round trip on this host.
inline Duration rto_floor(std::uint32_t ranks_per_core) noexcept {
  return ranks_per_core <= 1
             ? kMinRto
             : std::clamp<Duration>(kCoreTurns * ranks_per_core,
                                    kMinRtoOversubscribed, kMaxBackoff);
}

/// Smoothed round-trip time and its mean deviation (RFC 6298: gains 1/8 and
/// 1/4). Samples come from echoed transmission numbers, so a retransmission
/// cannot be mistaken for its original. A plain value.
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

  /// A time-out was too short: the ack of the earlier transmission came after
  /// `sample`. The estimate starts anew from there if that is longer (RFC 4015,
  /// section 3.4).
  void widen(Duration sample) noexcept {
    smoothed_ = std::max(smoothed_, sample);
    deviation_ = std::max(deviation_, sample / 2);
  }

  bool has_sample() const noexcept { return smoothed_ != Duration::zero(); }

  Duration smoothed() const noexcept { return smoothed_; }

  /// smoothed + 4 x deviation, at least smoothed + floor. Without the floor a
  /// steady path, whose deviation decays to zero, would time out on every ack.
  Duration rto(Duration floor) const noexcept {
    return has_sample()
               ? std::min(smoothed_ + std::max(4 * deviation_, floor), kMaxRto)
               : std::max(kInitialRto, floor);
  }

 private:
  // The Sender that has the estimator writes it under the engine's mutex, by
  // add_sample() and widen().
  Duration smoothed_{};   ///< Moving mean of the samples; 0: none yet.
  Duration deviation_{};  ///< Moving mean of their distance from it.
};

/// About the longest recent round trip of all streams of a process. It rises at
/// once, and falls by 1/64 of the difference with each shorter one. A plain
/// value.
class LongestRtt {
 public:
  void add_sample(Duration sample) noexcept {
    longest_ = std::max(sample, longest_ - (longest_ - sample) / 64);
  }

  /// This process waited for a core for `stall`; a peer may wait as long.
  void add_stall(Duration stall) noexcept {
    longest_ = std::max(longest_, stall);
  }

  Duration longest() const noexcept { return longest_; }

  /// Twice the longest, at least `floor`.
  Duration rto(Duration floor) const noexcept {
    return std::min(std::max(2 * longest_, floor), kMaxRto);
  }

 private:
  /// The longest sample; 0: none yet. Written under the engine's mutex: by each
  /// Sender with add_sample(), and by UdpTransport with add_stall().
  Duration longest_{};
};

/// `rto` doubled `doublings` times, but not past kMaxBackoff.
inline Duration backed_off(Duration rto, std::uint32_t doublings) noexcept {
  return std::min(rto * (std::int64_t{1} << std::min(doublings, 20U)),
                  std::max(rto, kMaxBackoff));
}

}  // namespace acp::udp
