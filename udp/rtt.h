// Round-trip time of a stream and the time-outs that follow from it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.h"

namespace acp::udp {

inline constexpr Duration kMinRto = std::chrono::milliseconds(5);
/// A process that shares its core was seen to stall for 8 to 36 ms.
inline constexpr Duration kMinRtoOversubscribed = std::chrono::milliseconds(20);
inline constexpr Duration kMaxRto = std::chrono::seconds(1);
/// Until something has been measured.
inline constexpr Duration kInitialRto = std::chrono::milliseconds(20);

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

  bool has_sample() const noexcept { return smoothed_ != Duration::zero(); }

  Duration smoothed() const noexcept { return smoothed_; }

  /// smoothed + 4 x deviation, within floor .. kMaxRto, doubled `doublings`
  /// times within the same upper limit.
  Duration rto(Duration floor, std::uint32_t doublings) const noexcept {
    const Duration base =
        has_sample() ? std::clamp(smoothed_ + 4 * deviation_, floor, kMaxRto)
                     : std::max(kInitialRto, floor);
    return std::min(base * (std::int64_t{1} << std::min(doublings, 20U)),
                    kMaxRto);
  }

 private:
  Duration smoothed_{};
  Duration deviation_{};
};

}  // namespace acp::udp
