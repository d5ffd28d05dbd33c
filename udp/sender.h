// The sending half of a stream: packs messages into fragments, keeps each
// until it is acknowledged, and says which to send again and when. Pure: no
// sockets, time is an argument. Used by Endpoint.
//
//   seq:   base_ ............... next_ - 1
//          oldest not yet acked  newest made; open_ when it takes messages
#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"
#include "transport/transport.h"
#include "udp/fragment_pool.h"
#include "udp/packet.h"
#include "udp/rtt.h"
#include "udp/stream_limits.h"

namespace acp::udp {

/// One thread at a time. The pool and the limits outlive it.
class Sender {
 public:
  using Parts = std::span<const std::span<const std::byte>>;

  Sender(FragmentPool& pool, StreamLimits& limits);

  /// Copies one message of `bytes` bytes into the open fragment.
  /// kAgain: it has no room, or there is none and the window or the pool is
  /// full. The caller has checked that the message fits a fragment.
  [[nodiscard]] Status append(Parts parts,
                              std::size_t bytes,
                              transport::Ordering ordering);

  /// The same for all but the last part, which stays where it is until it is
  /// acknowledged or reclaim(). Its fragment takes no more messages.
  [[nodiscard]] Status append_in_place(Parts parts,
                                       std::size_t bytes,
                                       transport::Ordering ordering);

  /// Copies what is still in `memory`; the second: wherever it is.
  void reclaim(std::span<const std::byte> memory) noexcept;
  void reclaim_all() noexcept;

  /// Before a fragment is sent again: as its bytes are now, for good. While
  /// they were read in place, somebody may have changed them.
  void copy_tail(Fragment& fragment) noexcept;

  /// Makes a fragment without messages, whose ack shows that the peer lives.
  /// False: something else waits for an ack, or there is no room.
  bool append_probe();

  /// Since when nothing has been heard of the peer.
  TimePoint heard() const noexcept { return heard_at_; }

  bool has_open() const noexcept { return open_ != nullptr; }

  /// Collected in the open fragment.
  std::size_t open_bytes() const noexcept {
    return open_ != nullptr ? open_->size() : 0;
  }

  /// The open fragment takes no more; it is the next to be sent.
  void close();

  bool has_pending() const noexcept { return pending_ != 0; }

  /// The oldest fragment to be sent (again); only when has_pending().
  Fragment& next_pending() noexcept;
  /// Flags of the packet in which the fragment will travel.
  std::uint8_t flags_for(const Fragment& fragment) noexcept;
  /// It went out as `txno`.
  void on_transmitted(Fragment& fragment, std::uint64_t txno, TimePoint now);

  /// A valid packet of the peer came.
  void on_heard(TimePoint now) noexcept { heard_at_ = now; }

  /// What a packet says about our fragments. Old news is ignored. Returns how
  /// many were sent again for nothing: an earlier transmission has arrived.
  std::size_t on_ack(const PacketView& packet, TimePoint now);

  /// When on_timer has to be called; max() when nothing is unacknowledged.
  TimePoint deadline() const noexcept;
  /// Makes fragments pending whose time is up; early calls do no harm.
  void on_timer(TimePoint now);

  /// The peer owes an ack for too long.
  bool is_peer_dead(TimePoint now) const noexcept;
  Duration silence(TimePoint now) const noexcept;

  std::uint32_t unanswered() const noexcept { return timeouts_; }

  /// Fragments sent and not acknowledged, or about to be.
  bool has_unacknowledged() const noexcept { return base_ != closed_end(); }

  std::uint64_t fragments_in_window() const noexcept { return next_ - base_; }

  const RttEstimator& rtt() const noexcept { return rtt_; }

  /// Gives all fragments back; nothing may be appended after that.
  void abandon() noexcept;

 private:
  std::uint64_t closed_end() const noexcept {
    return open_ == nullptr ? next_ : next_ - 1;
  }

  [[nodiscard]] Status open_fragment();
  [[nodiscard]] Status make_room(std::size_t bytes);
  template <typename Predicate>
  void copy_tails_if(Predicate is_meant) noexcept;
  void add(Parts parts, std::size_t bytes, transport::Ordering ordering);
  bool acknowledge(std::uint64_t seq, const PacketView& packet, TimePoint now);
  void on_echo(const Fragment& fragment,
               const Transmission& arrived,
               Duration sample);
  bool acknowledge_bitmap(std::uint64_t ack,
                          const PacketView& packet,
                          TimePoint now);
  void make_pending(Fragment& fragment) noexcept;
  void detect_losses(TimePoint now);
  bool is_probe_next() const noexcept;
  Duration rto() const noexcept;
  Duration timeout() const noexcept;
  Duration reorder_window() const noexcept;

  FragmentPool& pool_;
  StreamLimits& limits_;
  SendRing* ring_ = nullptr;  ///< While the window is not empty.
  Fragment* open_ = nullptr;
  std::uint64_t base_;
  std::uint64_t next_;
  std::uint64_t recovery_end_;        ///< Below: losses or gaps were seen.
  std::uint64_t last_ordinal_ = 0;    ///< Transmissions so far.
  std::uint64_t newest_arrived_ = 0;  ///< Latest of them known to have arrived.
  std::uint64_t bytes_ = 0;           ///< Charged for the closed fragments.
  std::uint64_t unasked_bytes_ = 0;   ///< Sent since the last ack request.
  RttEstimator rtt_;
  TimePoint heard_at_{};     ///< Last packet of the peer, or first unacked.
  TimePoint timer_start_{};  ///< Last progress or time-out.
  TimePoint loss_deadline_ = TimePoint::max();
  std::uint32_t pending_ = 0;
  std::uint32_t in_place_ = 0;  ///< Fragments with a tail.
  std::uint32_t timeouts_ = 0;  ///< Since the last progress.
  /// Doublings of the RTO. Karn's rule: only a sample ends them, because only
  /// it shows that the RTO is long enough for the path.
  std::uint8_t backoff_ = 0;
  std::uint8_t reorder_level_ =
      0;  ///< How much has been seen: 0 .. kMaxReorderLevel.
  std::uint16_t spurious_ = 0;  ///< Found by the on_ack() under way.
};

}  // namespace acp::udp
