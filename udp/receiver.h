// The receiving half of a stream: tells new fragments from old ones, keeps
// early ordered ones, and decides when to acknowledge. Pure: no sockets, time
// is an argument. Used by Endpoint.
#pragma once

#include <cstdint>

#include "udp/fragment_pool.h"
#include "udp/packet.h"
#include "udp/stream_limits.h"

namespace acp::udp {

/// One thread at a time. The pool and the limits outlive it.
class Receiver {
 public:
  enum class Verdict : std::uint8_t {
    kDeliver,    ///< Hand its messages over, then mark_delivered.
    kHold,       ///< Ordered and early: hold() it.
    kDuplicate,  ///< It came before.
    kDrop,       ///< No room to hold it, or beyond the window.
  };

  Receiver(FragmentPool& pool, const StreamLimits& limits);

  /// What to do with the fragment of this packet; changes nothing.
  Verdict judge(const PacketHeader& header) const noexcept;

  /// A valid fragment came, whatever the verdict: for the echo and the acks.
  void on_arrival(const PacketHeader& header,
                  Verdict verdict,
                  TimePoint now) noexcept;

  /// All its messages have been handed over. Only now may an ack name it.
  void mark_delivered(const PacketHeader& header) noexcept;

  /// Takes over an early fragment, of which judge said kHold.
  void hold(const PacketHeader& header, Fragment* fragment) noexcept;

  /// The held fragment whose turn it is; nullptr when none. Hand its messages
  /// over, then call finish_held.
  Fragment* ready() const noexcept;
  void finish_held() noexcept;

  /// Writes ack, echo and, into `sack`, the bitmap; sets kFlagSack if needed.
  void fill(PacketHeader& header,
            SackBitmap& sack,
            TimePoint now) const noexcept;
  void on_ack_sent() noexcept;

  /// After data have been sent it does not, and there is no need for the time.
  bool owes_ack() const noexcept {
    return ack_now_ || ack_deadline_ != TimePoint::max();
  }

  /// The peer should hear now, not when something goes there anyway.
  bool owes_ack_now(TimePoint now) const noexcept {
    return ack_now_ || now >= ack_deadline_;
  }

  /// When an ack is due; max() when none is owed.
  TimePoint deadline() const noexcept { return ack_deadline_; }

  std::uint64_t base() const noexcept { return base_; }

  /// Gives held fragments back.
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
  std::uint64_t base_;        ///< The oldest fragment not yet delivered.
  SackBitmap received_{};     ///< From base_: delivered, or held.
  Fragment* held_ = nullptr;  ///< By seq, oldest first.
  std::uint32_t held_count_ = 0;
  std::uint32_t unacked_ = 0;
  std::uint64_t echo_ = 0;
  TimePoint echo_time_{};
  TimePoint ack_deadline_ = TimePoint::max();
  bool ack_now_ = false;
};

}  // namespace acp::udp
