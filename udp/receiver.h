// The receiving half of a stream: tells new fragments from duplicates, holds
// ordered fragments that came early, and decides when to acknowledge. Used by
// Endpoint. No sockets and no clock: time is an argument.
#pragma once

#include <cstdint>

#include "udp/fragment_pool.h"
#include "udp/packet.h"
#include "udp/stream_limits.h"

namespace acp::udp {

/// Guarded by the engine's mutex. The pool and the limits outlive it.
///
/// Invariants between calls:
/// 1. Every fragment below base_ has been delivered; fragment base_ has not.
/// 2. Bit i of received_: fragment base_ + i is delivered or held. Bit 0 is set
///    only while a held fragment base_ is being handed over.
/// 3. The held_ list is sorted by seq, has held_count_ <= max_held_fragments
///    entries, and the bit of each is set.
/// 4. A held fragment is never dropped: an ack may already have named it.
class Receiver {
 public:
  enum class Verdict : std::uint8_t {
    kDeliver,    ///< Hand over its messages, then call mark_delivered.
    kEarly,      ///< Ordered and early: call keep_early().
    kDuplicate,  ///< Received before.
    kDrop,       ///< No room to hold it, or beyond the window.
  };

  Receiver(FragmentPool& pool, const StreamLimits& limits);

  /// Decides about the fragment of this packet; changes nothing.
  Verdict judge(const PacketHeader& header) const noexcept;

  /// Notes that a valid fragment came: to this host at `arrived`, and was taken
  /// from the socket at `now`. Called for every verdict, since echo and acks
  /// depend on it.
  void on_arrival(const PacketHeader& header,
                  Verdict verdict,
                  TimePoint now,
                  TimePoint arrived) noexcept;

  /// All messages of the fragment have been handed over. Only now may an ack
  /// name it.
  void mark_delivered(const PacketHeader& header) noexcept;

  /// Takes ownership of an early fragment for which judge returned kEarly.
  void keep_early(const PacketHeader& header, Fragment* fragment) noexcept;

  /// The held fragment that is next in order; nullptr when there is none. Hand
  /// over its messages, then call finish_held.
  Fragment* ready() const noexcept;
  void finish_held() noexcept;

  /// Writes ack, echo and, into `sack`, the bitmap; sets kFlagSack if needed.
  void fill(PacketHeader& header,
            SackBitmap& sack,
            TimePoint now) const noexcept;
  void on_ack_sent() noexcept;

  /// Whether any ack is owed, now or later. A data packet that was just sent
  /// has paid it, so this cheap check spares most calls a look at the clock.
  bool owes_ack() const noexcept {
    return ack_now_ || ack_deadline_ != TimePoint::max();
  }

  /// Whether the ack is due now and cannot wait for a data packet.
  bool owes_ack_now(TimePoint now) const noexcept {
    return ack_now_ || now >= ack_deadline_;
  }

  /// When an ack is due; max() when none is owed.
  TimePoint deadline() const noexcept { return ack_deadline_; }

  std::uint64_t base() const noexcept { return base_; }

  /// Releases all held fragments; the peer has failed.
  void abandon() noexcept;

 private:
  bool has_bit(std::uint64_t offset) const noexcept {
    return (received_[offset / 64] >> (offset % 64) & 1) != 0;
  }

  void set_bit(std::uint64_t offset) noexcept {
    received_[offset / 64] |= std::uint64_t{1} << (offset % 64);
  }

  bool has_gap() const noexcept;
  void advance() noexcept;
  void shift(unsigned count) noexcept;

  FragmentPool& pool_;
  const StreamLimits& limits_;
  /// Oldest fragment not delivered. Moved by mark_delivered() and advance().
  std::uint64_t base_;
  /// See invariant 2. mark_delivered() and keep_early() set bits, and advance()
  /// shifts them out.
  SackBitmap received_{};
  // Early ordered fragments, oldest first, and their number. keep_early() adds;
  // finish_held() and abandon() remove.
  Fragment* held_ = nullptr;
  std::uint32_t held_count_ = 0;

  // The ack that is owed. on_arrival() writes these fields, and on_ack_sent()
  // resets all but the echo. finish_held() sets ack_now_ as well.
  std::uint32_t unacked_ = 0;  ///< Arrivals since the last ack was sent.
  std::uint64_t echo_ = 0;     ///< txno that the next ack names.
  TimePoint echo_time_{};      ///< Arrival of that transmission.
  TimePoint ack_deadline_ = TimePoint::max();  ///< max(): no ack is owed.
  bool ack_now_ = false;  ///< The ack must not wait for the deadline.
};

}  // namespace acp::udp
