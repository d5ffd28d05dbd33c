// How much each peer may have on its way to this process, so that all together
// do not overflow its receive buffer. Used by Endpoint for each packet.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

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

/// Divides half of the receive buffer, the budget, among the peers that have
/// sent fragments lately. All bytes are charged bytes (see charge()). Guarded
/// by the engine's mutex.
///
/// A stream is heavy when it carries much data in a period, and in the period
/// after that. While there are such streams, one half of the budget is divided
/// among all streams, and the other among the heavy ones. So a stream that
/// carries data keeps a large grant while many others send a small message now
/// and then.
///
/// A stream that begins is granted no more than a sender may send without a
/// grant, until it has used that. When many streams begin at once, the receiver
/// first hears of only a few. Half of the buffer would go to the first stream,
/// a quarter to the second and so on. The sum of all grants would exceed the
/// buffer. By the time a stream has used its first grant, the receiver has
/// heard of all streams. For the same reason a stream counts as heavy before it
/// is granted the share of one.
class GrantBudget {
 public:
  /// The budget's record of a stream. Written by on_fragment().
  struct Stream {
    std::uint32_t period : 20 = 0;  ///< In which it sent last; 0: never.
    bool has_begun : 1 = false;     ///< It has used its first grant.
    bool was_heavy : 1 = false;     ///< It was so in the period before.
    bool is_counted : 1 = false;    ///< It counts as heavy in that period.
    bool is_heavy : 1 = false;      ///< It is heavy in that period.
    /// Charged in that period, at most UINT8_MAX; until the stream has begun,
    /// since its first fragment.
    std::uint32_t kib : 8 = 0;
  };

  static_assert(sizeof(Stream) == 4);

  GrantBudget(std::uint64_t buffer_bytes, std::uint64_t most) noexcept
      : half_(buffer_bytes / 2), most_(most) {}

  /// A fragment of a stream arrived. A stream begins when it has not sent in
  /// this period and the one before. Its first fragment is not charged, since
  /// a sender may send one of any size without a grant.
  void on_fragment(Stream& stream,
                   std::size_t payload_bytes,
                   TimePoint now) noexcept {
    if (now >= next_period_) {
      all_.begin_period();
      counted_.begin_period();
      heavy_.begin_period();
      period_ = period_ == kLastPeriod ? 1 : period_ + 1;
      next_period_ = now + kPeriod;
    }
    const bool is_first = !is_active(stream);
    if (stream.period != period_) {
      begin_period(stream, is_first);
    }
    if (!is_first) {
      add(stream, charge(payload_bytes) / 1024);
    }
  }

  /// The field of a packet to the sender of the stream: KiB, or 0, which says
  /// nothing.
  std::uint16_t kib_for(const Stream& stream) const noexcept {
    if (stream.period == 0) {
      return 0;  // it has kFirstGrant
    }
    std::uint64_t bytes = std::min(share_of(stream), most_);
    if (!is_active(stream)) {
      bytes = std::min<std::uint64_t>(bytes, kIdleGrant);
    } else if (!stream.has_begun) {
      bytes = std::min<std::uint64_t>(bytes, kFirstGrant);
    }
    return static_cast<std::uint16_t>(
        std::clamp<std::uint64_t>(bytes / 1024, 1, UINT16_MAX));
  }

 private:
  /// A stream counts in two periods. With a shorter one a receiver gives the
  /// grant of a rank that has no core for some time to others. That rank comes
  /// back with the grant that it knows, and all together overflow the buffer.
  static constexpr Duration kPeriod = kGrantAge;
  static constexpr std::uint32_t kLastPeriod = (1 << 20) - 1;

  /// A sender exceeds its grant by less than a fragment. So one and a half
  /// first grants show that it has heard the grant once, and used it.
  static constexpr std::uint32_t kBegunKib = kFirstGrant * 3 / 2 / 1024;
  /// Some hundred small datagrams, or two of 60,000 bytes.
  static constexpr std::uint64_t kMostHeavyKib = 96;

  /// A number of streams.
  struct Count {
    std::uint32_t now = 0;     ///< In this period so far.
    std::uint32_t before = 0;  ///< In the period before.

    void begin_period() noexcept { before = std::exchange(now, 0); }

    std::uint64_t value() const noexcept { return std::max(now, before); }
  };

  void begin_period(Stream& stream, bool is_first) noexcept {
    stream.has_begun = stream.has_begun && !is_first;
    stream.was_heavy = stream.is_heavy && !is_first;
    stream.is_counted = stream.was_heavy;
    stream.is_heavy = false;
    stream.kib = stream.has_begun || is_first ? 0 : stream.kib;
    stream.period = period_ & kLastPeriod;
    ++all_.now;
    counted_.now += stream.was_heavy ? 1 : 0;
    heavy_.now += stream.was_heavy ? 1 : 0;
  }

  /// A stream is heavy when it has been charged four times its share of one
  /// half of the budget in a period. This takes only a few round trips. From
  /// half of that on it counts as one, so that streams that become heavy
  /// together have counted each other before they have larger grants.
  void add(Stream& stream, std::uint64_t kib) noexcept {
    const auto charged = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(stream.kib + kib, UINT8_MAX));
    stream.kib = charged & UINT8_MAX;
    stream.has_begun = stream.has_begun || charged >= kBegunKib;
    if (stream.is_heavy || charged < kBegunKib) {
      return;  // heavy already, or below each limit
    }
    const std::uint64_t limit = std::clamp<std::uint64_t>(
        4 * (half_ / 2 / streams() / 1024), 2 * kBegunKib, kMostHeavyKib);
    if (!stream.is_counted && charged >= limit / 2) {
      stream.is_counted = true;
      ++counted_.now;
    }
    if (charged >= limit) {
      stream.is_heavy = true;
      heavy_.now += stream.was_heavy ? 0 : 1;
    }
  }

  bool is_active(const Stream& stream) const noexcept {
    return stream.period != 0 && ((period_ - stream.period) & kLastPeriod) <= 1;
  }

  bool has_heavy_share(const Stream& stream) const noexcept {
    return is_active(stream) &&
           (stream.is_heavy || (stream.was_heavy && stream.period == period_));
  }

  std::uint64_t streams() const noexcept {
    return std::max<std::uint64_t>(all_.value(), 1);
  }

  std::uint64_t share_of(const Stream& stream) const noexcept {
    if (heavy_.value() == 0) {
      return half_ / streams();
    }
    return half_ / 2 / streams() +
           (has_heavy_share(stream) ? half_ / 2 / counted_.value() : 0);
  }

  // The constructor alone writes these limits.
  std::uint64_t half_;
  std::uint64_t most_;

  // The period and the streams in it. on_fragment() begins a period and counts
  // each stream, through begin_period() and add().
  std::uint32_t period_ = 1;
  Count all_;
  Count counted_;  ///< Part of all_: they count as heavy.
  Count heavy_;    ///< Part of counted_: they have a heavy stream's share.
  TimePoint next_period_{};
};

}  // namespace acp::udp
