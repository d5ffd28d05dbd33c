// One peer in one color: the endpoint that the engine sends to. It joins the
// two halves of the stream, Sender and Receiver, by packets. endpoint.cc sends,
// endpoint_receive.cc receives.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "transport/address.h"
#include "transport/transport.h"
#include "udp/address_card.h"
#include "udp/connection.h"
#include "udp/datagram_socket.h"
#include "udp/fragment_pool.h"
#include "udp/packet.h"
#include "udp/receiver.h"
#include "udp/sender.h"
#include "udp/stream_limits.h"

namespace acp::udp {

class Endpoint;

/// Counts of a transport, for tests and traces. Written by its endpoints and by
/// the transport.
struct Counters {
  std::uint64_t sent = 0;           ///< Datagrams, retransmissions included.
  std::uint64_t connected = 0;      ///< Part of `sent`: by connected sockets.
  std::uint64_t pure_acks = 0;      ///< Part of `sent`: without a fragment.
  std::uint64_t retransmitted = 0;  ///< Part of `sent`: fragments sent again.
  std::uint64_t spurious = 0;       ///< Part of `retransmitted`: needless.
  std::uint64_t unsent = 0;         ///< Part of `sent`: refused by the system.
  std::uint64_t refused = 0;        ///< Sends without room in the socket.
  std::uint64_t received = 0;       ///< Datagrams, the dropped ones included.
  std::uint64_t delivered = 0;      ///< Messages.
  std::uint64_t duplicates = 0;     ///< Fragments received before.
  std::uint64_t held = 0;           ///< Ordered fragments that came early.
  std::uint64_t not_held = 0;       ///< Early ones dropped for lack of room.
  std::uint64_t malformed = 0;      ///< Dropped: not a packet of this version.
  std::uint64_t strays = 0;         ///< Dropped: other job or destination.
  std::uint64_t unknown = 0;        ///< Dropped: not its source's address.
  std::uint64_t corrupt = 0;        ///< Dropped: wrong tag.
};

/// State shared by the endpoints of a transport. The transport owns it and sets
/// `now`, `is_polling` and `deadline`; the endpoints write the rest. Guarded by
/// the engine's lock.
struct SharedState {
  DatagramSocket& socket;
  const Clock& clock;
  FragmentPool& pool;
  TailHash tail_hash{};
  transport::ProcId me = 0;
  std::uint32_t epoch = 0;
  StreamLimits limits{};
  std::size_t max_message = 0;
  std::uint64_t txno = 0;  ///< Last one used for any peer.
  Connection::Table connections{};
  Counters counters{};
  TimePoint now{};                    ///< Time of the poll in progress.
  bool is_polling = false;            ///< Then time() is `now`.
  std::vector<Endpoint*> to_flush{};  ///< Have unsent data or acks.
  std::vector<Endpoint*> timed{};     ///< May have a deadline.
  TimePoint deadline =
      TimePoint::max();  ///< No endpoint's deadline is earlier.

  int warned_error = 0;     ///< errno value of the last warning.
  TimePoint muted_until{};  ///< No repetition of it until then.

  TimePoint time() const noexcept { return is_polling ? now : clock.now(); }
};

/// Guarded by the engine's lock. Small while nothing is under way, since
/// buffers come from the transport's pool.
class Endpoint final : public transport::Endpoint {
 public:
  Endpoint(SharedState& shared,
           transport::ProcId peer,
           transport::Color color,
           const Address& address,
           std::uint16_t send_port);

  Status send(std::span<const std::span<const std::byte>> parts,
              transport::Ordering ordering) override;
  Status send_in_place(std::span<const std::span<const std::byte>> parts,
                       transport::Ordering ordering) override;

  void reclaim(std::span<const std::byte> memory) noexcept override {
    sender_.reclaim(memory);
  }

  void reclaim_all() noexcept { sender_.reclaim_all(); }

  /// Takes a packet that passed every check and lies in `carrier`'s buffer. If
  /// the fragment has to be held, keeps the carrier and sets it to an empty
  /// one.
  void on_packet(const PacketView& packet,
                 Fragment*& carrier,
                 transport::MessageSink& sink);

  /// Sends all pending fragments and the ack that is due. False: the socket has
  /// no room, call again.
  bool transmit();

  /// Whether flush_idle() may leave the open fragment for batching: the peer
  /// will answer soon, and the fragment is still small.
  bool may_wait_for_more() const noexcept;

  /// When on_timer() has to be called; max(): never.
  TimePoint deadline() const noexcept;
  void on_timer(TimePoint now);
  /// Does only the part of on_timer() that concerns acks of this process.
  void on_ack_timer(TimePoint now);

  /// Sends a probe if the peer has been silent for kQuiet and no fragment waits
  /// for its ack already. A missing ack counts as for any fragment. False: no
  /// probe was needed.
  bool probe(TimePoint now);

  bool is_peer_dead(TimePoint now) const noexcept {
    return sender_.is_peer_dead(now);
  }

  /// "10.0 s of silence at 127.0.0.1:4711, 16 transmissions unanswered".
  std::string describe_silence(TimePoint now) const;

  /// Gives the peer up: nothing is sent to it or accepted from it any more.
  void fail() noexcept;

  bool has_failed() const noexcept { return has_failed_; }

  transport::ProcId peer() const noexcept { return peer_; }

  /// Whether a datagram from `from` can be the peer's.
  bool comes_from(const Address& from) const noexcept {
    return sends_from(address_, send_port_, from);
  }

  const Sender& sender() const noexcept { return sender_; }

  bool is_queued_for_flush = false;  ///< In SharedState::to_flush; see flush.
  bool is_timed = false;             ///< In SharedState::timed.

 private:
  Status append(std::span<const std::span<const std::byte>> parts,
                transport::Ordering ordering,
                bool is_in_place);
  void queue_for_flush();
  void update_deadline();
  PacketHeader make_header(PacketType type, SackBitmap& sack, TimePoint now);
  bool transmit(Fragment& fragment);
  bool send_due_ack(TimePoint now);
  Status send_first(const Datagram& datagram, std::uint64_t txno);
  bool count_sent(Status status);
  void on_send_error(int error);
  void deliver(std::span<const std::byte> payload,
               transport::MessageSink& sink);
  void on_fragment(const PacketView& packet,
                   Fragment*& carrier,
                   transport::MessageSink& sink);
  bool hold(const PacketView& packet, Fragment*& carrier);

  SharedState& shared_;
  transport::ProcId peer_;
  transport::Color color_;
  Address address_;
  std::uint16_t send_port_;
  bool has_failed_ = false;  ///< Set by fail(), for good.
  int send_error_ = 0;  ///< errno value of the last datagram; 0: it was sent.
  Connection connection_;
  Sender sender_;
  Receiver receiver_;
};

}  // namespace acp::udp
