// How much each peer may have on its way to this process, so that all together
// do not overflow its receive buffer. Used by Endpoint for each packet.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/clock.h"

namespace acp::udp {

/// Bytes that a peer may send before it has heard of this process: four small
/// packets. Those of 950 peers fit a receive buffer of 4 MiB.
inline constexpr std::uint32_t kFirstGrant = 4 << 10;
/// Bytes that a peer may send after it was idle for kGrantAge. Its former grant
/// may have gone to others by then, and not before: GrantBudget counts a peer
/// for at least as long.
inline constexpr std::uint32_t kIdleGrant = 16 << 10;
inline constexpr Duration kGrantAge = std::chrono::milliseconds(250);

/// Bytes of a receive buffer that a fragment uses: the kernel adds about 1 KiB
/// of its own to each datagram.
constexpr std::uint64_t charge(std::size_t payload_bytes) noexcept {
  return payload_bytes + 1024;
}

/// Divides half of the receive buffer among the peers that have sent fragments
/// lately. All bytes are charged bytes (see charge()). Guarded by the engine's
/// lock.
///
/// A stream that begins is granted no more than a sender may send without a
/// grant, until it has used that. When many streams begin at once, the receiver
/// first hears of only a few. With half of the buffer for the first stream, a
/// quarter for the second and so on, the sum of all grants would exceed the
/// buffer. By the time a stream has used its first grant, the receiver has
/// heard of all streams.
class GrantBudget {
 public:
  /// The budget's record of a stream. Written by on_fragment().
  struct Stream {
    std::uint32_t period : 24 = 0;  ///< In which it sent last; 0: never.
    std::uint32_t kib : 8 = 0;  ///< Charged since it began, see on_fragment().
  };

  GrantBudget(std::uint64_t buffer_bytes, std::uint64_t most) noexcept
      : half_(buffer_bytes / 2), most_(most) {}

  /// A fragment of a stream arrived. A stream begins when it has not sent in
  /// this period and the one before. Its first fragment is not charged, since
  /// a sender may send one of any size without a grant.
  void on_fragment(Stream& stream,
                   std::size_t payload_bytes,
                   TimePoint now) noexcept {
    if (now >= next_period_) {
      active_before_ = active_;
      active_ = 0;
      period_ = period_ == kLastPeriod ? 1 : period_ + 1;
      next_period_ = now + kPeriod;
    }
    if (!is_active(stream)) {
      stream.kib = 0;
    } else if (is_beginning(stream)) {
      stream.kib = (stream.kib + charge(payload_bytes) / 1024) & 0xff;
    }
    if (stream.period != period_) {
      stream.period = period_ & kLastPeriod;
      ++active_;
    }
  }

  /// The field of a packet to the sender of the stream: KiB, or 0, which says
  /// nothing.
  std::uint16_t kib_for(const Stream& stream) const noexcept {
    if (stream.period == 0) {
      return 0;  // it has kFirstGrant
    }
    const std::uint64_t streams =
        std::max<std::uint64_t>({active_, active_before_, 1});
    std::uint64_t bytes = std::min(half_ / streams, most_);
    if (!is_active(stream)) {
      bytes = std::min<std::uint64_t>(bytes, kIdleGrant);
    } else if (is_beginning(stream)) {
      bytes = std::min<std::uint64_t>(bytes, kFirstGrant);
    }
    return static_cast<std::uint16_t>(
        std::clamp<std::uint64_t>(bytes / 1024, 1, UINT16_MAX));
  }

 private:
  /// A stream counts in two periods. With a shorter one a receiver gives the
  /// grant of a rank that has no core for some time to others; that rank comes
  /// back with the grant that it knows, and all together overflow the buffer.
  static constexpr Duration kPeriod = kGrantAge;
  static constexpr std::uint32_t kLastPeriod = (1 << 24) - 1;

  bool is_active(const Stream& stream) const noexcept {
    return stream.period != 0 && stream.period + 1U >= period_;
  }

  /// A sender exceeds its grant by less than a fragment. So one and a half
  /// first grants show that it has heard the grant once, and used it.
  static bool is_beginning(const Stream& stream) noexcept {
    return stream.kib < kFirstGrant * 3 / 2 / 1024;
  }

  std::uint64_t half_;
  std::uint64_t most_;
  std::uint32_t period_ = 1;
  std::uint32_t active_ = 0;         ///< Streams that sent in this period.
  std::uint32_t active_before_ = 0;  ///< In the period before.
  TimePoint next_period_{};
};

}  // namespace acp::udp
