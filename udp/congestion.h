// How many bytes a stream may have under way, so that it fills the path and no
// queue. The delay of acks drives a window, which is spent at a limited rate.
// Used by Sender on paths that leave the host. docs/udp.md, "Congestion".
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.h"

namespace acp::udp {

/// Pure: time is an argument. Bytes are charged bytes (see charge()). Guarded
/// by the engine's mutex.
///
///   starting --(delay above target, or losses)--> avoiding
///      the window doubles each round trip            grows by one packet each
///                                                    round trip, until the
///                                                    queue has to be emptied
///
/// The window of a path with a queue is reduced to the content of the empty
/// path. A stream without a reduction for kRoundsToDrain sends half a window
/// for a round. So each stream empties the queue now and then, and a stream
/// that begins later measures the least round trip as well. Otherwise the later
/// stream takes the queue for a part of the path and all of the bottleneck
/// for itself.
class CongestionWindow {
 public:
  /// One full packet of a path with an MTU of 1,500 bytes.
  static constexpr std::uint32_t kPacket = 2'500;
  static constexpr std::uint32_t kFirst = 8 * kPacket;
  static constexpr std::uint32_t kLeast = kPacket;
  /// The window that delay alone leaves. Where a round trip is mostly the time
  /// until the peer gets a processor, a smaller one makes no queue shorter.
  static constexpr std::uint32_t kLeastByDelay = 4 * kPacket;

  std::uint64_t bytes() const noexcept { return window_; }

  /// Acks released `acked` bytes, of `in_flight` that had been under way.
  /// The window never grows beyond `most`.
  void on_ack(std::uint64_t acked,
              std::uint64_t in_flight,
              std::uint64_t most) noexcept;
  /// The round trip of the packet that an ack names, without its time in both
  /// hosts.
  void on_sample(Duration rtt, TimePoint now) noexcept;

  /// `bytes` were sent, for the first time or again.
  void on_sent(std::uint64_t bytes, TimePoint now) noexcept;

  /// Later arrivals show that `bytes` are lost.
  void on_loss(std::uint64_t bytes, TimePoint now) noexcept;

  /// Nothing came for the `count`th time-out in a row.
  void on_timeout(std::uint32_t count) noexcept;

  /// When the next packet may leave. The bytes of kBurstTime pass at once.
  TimePoint next_send() const noexcept { return pace_ - kBurstTime; }

  /// The bytes that may leave at once, if next_send() is not after `now`. The
  /// packet that exceeds them may still leave.
  std::uint64_t burst(TimePoint now) const noexcept;

  /// Round trip that the window may grow to: half as long again as the least,
  /// so that no queue grows beyond the path's delay-bandwidth product.
  Duration target() const noexcept {
    return least_rtt_ + std::max<Duration>(least_rtt_ / 2, kLeastQueue);
  }

 private:
  bool is_starting() const noexcept { return next_shrink_ == TimePoint{}; }

  /// Bytes per round trip at which the window is spent; 0: not limited.
  std::uint64_t rate() const noexcept;
  void end_round(TimePoint now) noexcept;
  void drain() noexcept;
  void shrink(std::uint32_t parts_of_1024,
              std::uint32_t least,
              TimePoint now) noexcept;

  /// Queue that a host's own scheduling causes.
  static constexpr Duration kLeastQueue = std::chrono::microseconds(100);
  /// The least round trip is measured anew after this time: routes change.
  static constexpr Duration kLeastRttAge = std::chrono::seconds(10);
  /// A timer wakes this process that late at most times.
  static constexpr Duration kBurstTime = std::chrono::microseconds(200);
  /// A round trip that loses more than 1/16 of its bytes is congested, whatever
  /// its delay says. Fewer losses are the path's own.
  static constexpr std::uint32_t kLossShare = 16;
  /// Full windows without a reduction after which the stream lets the queue run
  /// empty.
  static constexpr std::uint8_t kRoundsToDrain = 32;

  /// A round trip in 4 bytes, because each endpoint has a window. Longer ones
  /// count as the longest: 4.29 s.
  using ShortDuration = std::chrono::duration<std::uint32_t, std::nano>;
  static ShortDuration shorten(Duration time) noexcept;

  // The engine's mutex guards these fields. on_sample() writes the three times
  // below, and end_round() resets the least of the round.
  ShortDuration least_rtt_ = ShortDuration::max();
  ShortDuration rtt_{};  ///< Latest sample.
  ShortDuration round_least_ =
      ShortDuration::max();  ///< Samples of this round.
  /// end_round() writes the first, and on_sample() the second, together with
  /// least_rtt_. Times in microseconds that wrap around after 71 minutes. Only
  /// differences count, and a wrong one makes a round or a measurement longer.
  std::uint32_t round_start_ = 0;
  std::uint32_t least_rtt_time_ = 0;
  /// One reaction in each round trip. TimePoint{}: none since the start, or
  /// since time-outs in a row. Written by shrink() and on_timeout().
  TimePoint next_shrink_{};
  /// Time at which all sent bytes have left at the rate. Written by on_sent().
  TimePoint pace_{};
  /// Grows in on_ack(), and in end_round() after a drain. shrink(), drain() and
  /// on_timeout() reduce it.
  std::uint32_t window_ = kFirst;
  // Bytes since the last reaction; older ones count less. on_sent() and
  // on_loss() add, and shrink() resets both.
  std::uint32_t round_sent_ = 0;
  std::uint32_t round_lost_ = 0;
  // The state of the round. end_round() writes these fields. on_ack() sets
  // is_full_, drain() sets is_draining_ and resets full_rounds_, as shrink()
  // does.
  std::uint8_t full_rounds_ = 0;  ///< Full windows since the last reduction.
  bool is_full_ = false;          ///< The stream has used the window's growth.
  bool is_draining_ = false;      ///< The round in which drain() has an effect.
};

}  // namespace acp::udp
