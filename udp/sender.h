// The sending half of a stream: packs messages into fragments, keeps each
// fragment until it is acknowledged, and decides which to send again and when.
// Used by Endpoint. No sockets and no clock: time is an argument. sender.cc has
// the packing, sender_recovery.cc acks, losses and time-outs.
//
//   seq:   base_ ................. next_ - 1
//          oldest unacknowledged   newest made; open_ while it takes messages
#pragma once

#include <cstdint>
#include <span>

#include "status/status.h"
#include "transport/transport.h"
#include "udp/congestion.h"
#include "udp/fragment_pool.h"
#include "udp/grant_budget.h"
#include "udp/packet.h"
#include "udp/rtt.h"
#include "udp/stream_limits.h"

namespace acp::udp {

/// Guarded by the engine's mutex. The pool and the limits outlive it.
///
/// Invariants between calls:
/// 1. (*ring_)[seq] for base_ <= seq < next_ is the fragment, or null if a SACK
///    has acknowledged it, or the ack probe in its stead.
///    ring_ is not null while base_ != next_.
/// 2. A SACK never releases the fragment at its own cumulative ack. A later
///    cumulative ack may still stop at a fragment that a SACK has released, and
///    leave none; then the next time-out makes an ack probe (pool permitting).
/// 3. open_ is null or fragment next_ - 1, the only one in state kOpen.
/// 4. pending_ counts fragments in state kPending, in_place_ those with a tail,
///    bytes_ the charge of all unacknowledged fragments that are not open.
class Sender {
 public:
  using Parts = std::span<const std::span<const std::byte>>;

  /// How the window is set: fixed, or by the path's delay and losses.
  enum class Window : std::uint8_t { kFixed, kAdaptive };

  Sender(FragmentPool& pool, StreamLimits& limits, Window window);

  /// Copies a message of `bytes` bytes into the open fragment, or into a new
  /// one. kAgain: the open fragment has no room; or none is open, and the
  /// window or the pool is full. Precondition: the message fits a fragment.
  [[nodiscard]] Status append(Parts parts,
                              std::size_t bytes,
                              transport::Ordering ordering);

  /// Like append, but the last part is not copied: it is read in place until
  /// the fragment is acknowledged or reclaim() is called. Its fragment takes no
  /// more messages. `may_go`: the program may unmap that part when it has been
  /// sent. If a part is gone when it has to be sent, the message goes without
  /// it.
  [[nodiscard]] Status append_in_place(Parts parts,
                                       std::size_t bytes,
                                       transport::Ordering ordering,
                                       bool may_go);

  /// Copies all data that is still read in place from `memory`.
  void reclaim(std::span<const std::byte> memory) noexcept;
  /// Copies data in place that may go and has not been sent.
  void reclaim_unsent() noexcept;
  /// Copies all data that is still read in place.
  void reclaim_all() noexcept;

  /// Copies the tail of a fragment into its buffer. Called before each
  /// retransmission: the program may change data in place at any time, and the
  /// packet's tag must match its bytes.
  void copy_tail(Fragment& fragment) noexcept;

  /// Leaves the tail of a put out of its message if the program has unmapped
  /// it. Called before the first transmission, which reads the tail in place.
  void drop_lost_tail(Fragment& fragment) noexcept;

  /// Makes a fragment without messages; its ack shows that the peer lives.
  /// False: another fragment waits for an ack already, or there is no room.
  bool append_probe();

  /// When the last valid packet of the peer came.
  TimePoint heard() const noexcept { return heard_at_; }

  bool has_open() const noexcept { return open_ != nullptr; }

  /// Bytes in the open fragment.
  std::size_t open_bytes() const noexcept {
    return open_ != nullptr ? open_->size() : 0;
  }

  /// Messages in the open fragment.
  std::uint64_t open_messages() const noexcept {
    return open_ != nullptr ? open_->messages : 0;
  }

  /// Closes the open fragment, if any, and makes it pending.
  void close();

  /// Messages are packed together up to this payload, at most
  /// StreamLimits::fragment_bytes. A larger message has a fragment of its own.
  void set_packed_bytes(std::size_t bytes) noexcept {
    packed_bytes_ = static_cast<std::uint16_t>(bytes);
  }

  /// Charged bytes that may be unacknowledged: what the peer grants, what the
  /// path holds and what the limits allow.
  std::uint64_t window() const noexcept;

  /// Charged bytes that the peer has granted; nothing before it has said so.
  std::uint64_t granted() const noexcept { return has_grant_ ? grant_ : 0; }

  /// Whether the rate at which fragments leave is limited.
  bool is_paced() const noexcept { return window_kind_ == Window::kAdaptive; }

  /// Whether the rate allows that a pending fragment is sent now.
  bool may_send(TimePoint now) const noexcept {
    return !is_paced() || now >= congestion_.next_send();
  }

  bool has_pending() const noexcept { return pending_ != 0; }

  std::uint32_t pending() const noexcept { return pending_; }

  /// The oldest pending fragment. Precondition: has_pending().
  Fragment& next_pending() noexcept;

  /// Fills `train` from its start with fragments for one train, which begins
  /// with next_pending(); returns how many. A train has more than one only if
  /// none has been sent before, and the rate allows that they leave together.
  /// All have the size of the first, but the last may be smaller.
  std::size_t next_train(std::span<Fragment*> train, TimePoint now) noexcept;

  /// Flags for the packet that is about to carry the fragment.
  std::uint8_t flags_for(const Fragment& fragment) noexcept;
  /// The fragment was sent as transmission `txno`.
  void on_transmitted(Fragment& fragment, std::uint64_t txno, TimePoint now);

  /// A valid packet of the peer arrived.
  void on_heard(TimePoint now) noexcept { heard_at_ = now; }

  /// Takes the ack fields of a packet; old ones are ignored. Returns how many
  /// fragments were retransmitted needlessly: an earlier transmission arrived.
  std::size_t on_ack(const PacketView& packet, TimePoint now);

  /// When on_timer has to be called; max() when nothing is unacknowledged.
  TimePoint deadline() const noexcept;
  /// Makes timed-out fragments pending. Calls before the deadline do nothing.
  void on_timer(TimePoint now);

  /// Whether the peer has owed an ack, and has sent no valid packet of any
  /// kind, for longer than the limit of silence.
  bool is_peer_dead(TimePoint now) const noexcept;
  Duration silence(TimePoint now) const noexcept;

  /// Time-outs since the last progress.
  std::uint32_t unanswered() const noexcept { return timeouts_; }

  /// Whether a closed fragment is not acknowledged.
  bool has_unacknowledged() const noexcept { return base_ != closed_end(); }

  std::uint64_t fragments_in_window() const noexcept { return next_ - base_; }

  const RttEstimator& rtt() const noexcept { return rtt_; }

  /// Releases all fragments; nothing may be appended after that.
  void abandon() noexcept;

 private:
  std::uint64_t closed_end() const noexcept {
    return open_ == nullptr ? next_ : next_ - 1;
  }

  [[nodiscard]] Status open_fragment();
  [[nodiscard]] Status make_room(std::size_t bytes);
  template <typename Predicate>
  void copy_tails_if(Predicate is_meant) noexcept;
  void drop_tail(Fragment& fragment) noexcept;
  void add(Parts parts, std::size_t bytes, transport::Ordering ordering);
  bool acknowledge(std::uint64_t seq, const PacketView& packet, TimePoint now);
  void on_echo(const Fragment& fragment,
               const Transmission& arrived,
               Duration sample);
  bool acknowledge_bitmap(std::uint64_t ack,
                          const PacketView& packet,
                          TimePoint now);
  void make_pending(Fragment& fragment) noexcept;
  void probe_ack() noexcept;
  void detect_losses(TimePoint now);
  bool is_probe_next() const noexcept;
  Duration rto() const noexcept;
  Duration timeout() const noexcept;
  Duration reorder_window() const noexcept;

  FragmentPool& pool_;
  StreamLimits& limits_;

  // The fragments. open_fragment() makes them, close() makes them pending, and
  // on_ack() releases them. abandon() releases all at once.
  SendRing* ring_ = nullptr;  ///< From the pool; see invariant 1.
  Fragment* open_ = nullptr;  ///< Takes messages; null: none does.
  std::uint64_t base_;        ///< Oldest unacknowledged fragment.
  std::uint64_t next_;        ///< The next fragment that is made.

  /// Losses or gaps were seen below. Set to next_ by a retransmission, and by
  /// an ack with a bitmap.
  std::uint64_t recovery_end_;
  /// Transmissions of the stream. Counted by on_transmitted().
  std::uint64_t last_ordinal_ = 0;
  /// Latest transmission that arrived. Written by acknowledge() and on_echo().
  std::uint64_t newest_arrived_ = 0;
  /// See invariant 4. close() and probe_ack() add; acknowledge() and
  /// drop_tail() subtract.
  std::uint64_t bytes_ = 0;
  /// Charge since the last ack request. Written by flags_for().
  std::uint64_t unasked_bytes_ = 0;
  RttEstimator rtt_;  ///< This stream's own. Written by on_echo().

  // Times. on_transmitted() begins the first two when nothing was under way.
  /// Last packet of the peer, or first send. Written by on_heard().
  TimePoint heard_at_{};
  /// Last ack that released, or time-out. Written by on_ack() and on_timer().
  TimePoint timer_start_{};
  /// When on_timer() has to look for losses. Written by detect_losses(), and
  /// reset by on_ack().
  TimePoint loss_deadline_ = TimePoint::max();

  /// See invariant 4. make_pending() adds; on_transmitted() and acknowledge()
  /// subtract.
  std::uint32_t pending_ = 0;
  /// See invariant 4. append_in_place() adds; copy_tail(), drop_tail() and
  /// acknowledge() subtract.
  std::uint32_t in_place_ = 0;
  /// Since the last progress. on_timer() counts. on_ack() and on_transmitted()
  /// reset it.
  std::uint32_t timeouts_ = 0;
  /// Doublings of the RTO. on_timer() counts them. Only a sample resets them,
  /// in on_echo() (Karn's rule), because only a sample shows that the RTO is
  /// long enough for the path.
  std::uint8_t backoff_ = 0;
  /// How much the path reorders, 0 .. kMaxReorderLevel. Doubles reorder limits.
  /// Written by on_echo().
  std::uint8_t reorder_level_ = 0;
  std::uint16_t needless_ = 0;  ///< Counted during one on_ack().
  Window window_kind_;          ///< Written by the constructor alone.
  /// The peer has granted anything yet. Set by on_ack().
  bool has_grant_ = false;
  std::uint16_t packed_bytes_;  ///< See set_packed_bytes().
  /// The latest grant of the peer, from on_ack(). on_transmitted() lowers it
  /// when the stream was idle.
  std::uint32_t grant_;
  /// Used with Window::kAdaptive. The functions that transmit, take acks and
  /// find losses tell it.
  CongestionWindow congestion_;
};

}  // namespace acp::udp
