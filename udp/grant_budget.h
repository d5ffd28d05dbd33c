// How much each peer may have on its way to this process, so that all together
// do not overflow its receive buffer. Used by Endpoint for each packet.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.h"

namespace acp::udp {

/// Bytes that a peer may send before it has heard of this process: four small
/// packets, so that 1,000 peers fit a receive buffer of 4 MiB.
inline constexpr std::uint32_t kFirstGrant = 4 << 10;
/// Bytes that a peer may send after it was idle for kGrantAge. Its former grant
/// may have gone to others by then, and not before: GrantBudget counts a peer
/// for at least as long.
inline constexpr std::uint32_t kIdleGrant = 16 << 10;
inline constexpr Duration kGrantAge = std::chrono::milliseconds(250);

/// Divides half of the receive buffer among the peers that have sent fragments
/// lately. All bytes are charged bytes (see charge()). Guarded by the engine's
/// lock.
class GrantBudget {
 public:
  /// A stream's number of the period in which it sent last. Starts at 0.
  using Period = std::uint32_t;

  GrantBudget(std::uint64_t buffer_bytes, std::uint64_t most) noexcept
      : half_(buffer_bytes / 2), most_(most) {}

  /// A fragment of a stream arrived; `last` is the stream's own field.
  void on_fragment(Period& last, TimePoint now) noexcept {
    if (now >= next_period_) {
      active_before_ = active_;
      active_ = 0;
      ++period_;
      next_period_ = now + kPeriod;
    }
    if (last != period_) {
      last = period_;
      ++active_;
    }
  }

  /// KiB for each stream, at least 1: the field of a packet.
  std::uint16_t kib_for_each() const noexcept {
    const std::uint64_t streams =
        std::max<std::uint64_t>({active_, active_before_, 1});
    return static_cast<std::uint16_t>(std::clamp<std::uint64_t>(
        std::min(half_ / streams, most_) / 1024, 1, UINT16_MAX));
  }

 private:
  /// A stream counts in two periods. With a shorter one a receiver gives the
  /// grant of a rank that has no core for some time to others; that rank comes
  /// back with the grant that it knows, and all together overflow the buffer.
  static constexpr Duration kPeriod = kGrantAge;

  std::uint64_t half_;
  std::uint64_t most_;
  Period period_ = 1;
  std::uint32_t active_ = 0;         ///< Streams that sent in this period.
  std::uint32_t active_before_ = 0;  ///< In the period before.
  TimePoint next_period_{};
};

}  // namespace acp::udp
