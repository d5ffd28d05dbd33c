// One peer in one color: the endpoint that the engine sends to. It joins the
// two halves of the stream, Sender and Receiver, by packets. endpoint.cc sends,
// endpoint_receive.cc receives.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "transport/address.h"
#include "transport/peer_name.h"
#include "transport/transport.h"
#include "udp/address_card.h"
#include "udp/connection.h"
#include "udp/datagram_socket.h"
#include "udp/fragment_pool.h"
#include "udp/grant_budget.h"
#include "udp/packet.h"
#include "udp/packet_guard.h"
#include "udp/path_mtu.h"
#include "udp/receiver.h"
#include "udp/replay_window.h"
#include "udp/sender.h"
#include "udp/stream_limits.h"

namespace acp::udp {

class Endpoint;

/// Counts of a transport, for tests and traces. Written by its endpoints and by
/// the transport.
struct Counters {
  std::uint64_t sent = 0;            ///< Datagrams, retransmissions included.
  std::uint64_t sent_bytes = 0;      ///< Bytes of these datagrams.
  std::uint64_t connected = 0;       ///< Part of `sent`: by connected sockets.
  std::uint64_t pure_acks = 0;       ///< Part of `sent`: without a fragment.
  std::uint64_t size_probes = 0;     ///< Part of `sent`: of PathMtu.
  std::uint64_t sent_again = 0;      ///< Part of `sent`: fragments sent again.
  std::uint64_t needless = 0;        ///< Part of `sent_again`.
  std::uint64_t unsent = 0;          ///< Part of `sent`: refused by the system.
  std::uint64_t refused = 0;         ///< Sends without room in the socket.
  std::uint64_t received = 0;        ///< Datagrams, the dropped ones included.
  std::uint64_t received_bytes = 0;  ///< Bytes of these datagrams.
  std::uint64_t delivered = 0;       ///< Messages.
  std::uint64_t duplicates = 0;      ///< Fragments received before.
  std::uint64_t held = 0;            ///< Ordered fragments that came early.
  std::uint64_t not_held = 0;        ///< Early ones dropped for lack of room.
  std::uint64_t malformed = 0;       ///< Dropped: not a packet of this version.
  std::uint64_t strays = 0;          ///< Dropped: other job or destination.
  std::uint64_t unknown = 0;         ///< Dropped: not its source's address.
  std::uint64_t corrupt = 0;         ///< Dropped: wrong tag.
  std::uint64_t replayed = 0;        ///< Dropped: a transmission taken before.
};

/// Counts of one peer in one color, kept only for ACP_STATS. A dropped
/// datagram counts here only if its address and port are the peer's. A plain
/// value.
struct PeerCounts {
  std::uint64_t sent = 0;        ///< Datagrams, counted as in Counters::sent.
  std::uint64_t sent_bytes = 0;  ///< Bytes of these datagrams.
  std::uint64_t received = 0;    ///< Datagrams that passed every check.
  std::uint64_t received_bytes = 0;  ///< Bytes of these datagrams.
  std::uint64_t sent_again = 0;
  std::uint64_t needless = 0;  ///< Part of `sent_again`.
  std::uint64_t malformed = 0;
  std::uint64_t corrupt = 0;
  std::uint64_t replayed = 0;
};

/// State shared by the endpoints of a transport. The transport owns it. Guarded
/// by the engine's mutex.
struct SharedState {
  DatagramSocket& socket;
  const Clock& clock;
  FragmentPool& pool;
  PacketGuard& guard;
  GrantBudget grants;  ///< Endpoints tell it of each fragment that arrives.
  // The constructor of the transport sets these.
  transport::ProcId me = 0;
  std::uint32_t epoch = 0;
  StreamLimits limits{};      ///< StreamLimits says what changes later.
  bool counts_peers = false;  ///< Endpoints have PeerCounts.

  Connection::Table connections{};  ///< Written by the endpoints' connections.
  Counters counters{};
  // poll() of the transport writes these two.
  TimePoint now{};          ///< Time of the poll in progress.
  bool is_polling = false;  ///< Then time() is `now`.
  // Endpoints add themselves to the lists, and lower the deadline. The
  // transport removes them and computes the deadline anew.
  std::vector<Endpoint*> to_flush{};  ///< Have unsent data or acks.
  std::vector<Endpoint*> timed{};     ///< May have a deadline.
  TimePoint deadline =
      TimePoint::max();  ///< No endpoint's deadline is earlier.
  /// See Endpoint::send_from_region(). Set when an endpoint sends data of a
  /// region again.
  TimePoint copies_regions_until{};

  // Written by Endpoint::on_send_error().
  int warned_error = 0;     ///< errno value of the last warning.
  TimePoint muted_until{};  ///< No repetition of it until then.
  /// Set by the constructor of the transport.
  transport::NameOf name_of = transport::name_at_launch;

  TimePoint time() const noexcept { return is_polling ? now : clock.now(); }
};

/// How datagrams reach a peer in one color, from its address card.
struct PeerPath {
  Address address;               ///< Where it listens.
  std::uint16_t send_port = 0;   ///< The second port that it sends from.
  std::uint16_t most_bytes = 0;  ///< Largest datagram that both sides take.
  Cipher cipher = Cipher::kChecksum;

  bool is_local() const noexcept { return transport::is_loopback(address); }

  /// Whether a datagram from `from` can be the peer's.
  bool begins_at(const Address& from) const noexcept {
    return sends_from(address, send_port, from);
  }
};

/// Guarded by the engine's mutex. Small while nothing is under way, since
/// buffers come from the transport's pool.
class Endpoint final : public transport::Endpoint {
 public:
  Endpoint(SharedState& shared,
           transport::ProcId peer,
           transport::Color color,
           const PeerPath& path);

  Status send(std::span<const std::span<const std::byte>> parts,
              transport::Ordering ordering) override;
  Status send_in_place(std::span<const std::span<const std::byte>> parts,
                       transport::Ordering ordering) override;
  Status send_from_region(std::span<const std::span<const std::byte>> parts,
                          transport::Ordering ordering) override;

  std::size_t good_message() const noexcept override;

  void reclaim(std::span<const std::byte> memory) noexcept override {
    sender_.reclaim(memory);
  }

  void reclaim_all() noexcept { sender_.reclaim_all(); }

  /// Takes a packet that passed every check. Copies a fragment that has to be
  /// held.
  void on_packet(const PacketView& packet, transport::MessageSink& sink);

  /// Sends all pending fragments and the ack that is due. False: the socket has
  /// no room, call again.
  bool transmit();

  /// Messages were not sent yet. Otherwise an endpoint in SharedState::to_flush
  /// has only acks and size probes to send.
  bool has_unsent() const noexcept {
    return sender_.has_open() || sender_.has_pending();
  }

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

  transport::Color color() const noexcept { return color_; }

  /// Null unless SharedState::counts_peers.
  PeerCounts* counts() const noexcept { return counts_.get(); }

  /// The size of datagrams that the path is known to carry.
  std::size_t datagram_bytes() const noexcept { return mtu_.bytes(); }

  const PeerPath& path() const noexcept { return path_; }

  /// False: this transmission of the peer has been taken before. Called once
  /// for each packet with a valid tag, before on_packet().
  bool accept(std::uint64_t txno) noexcept;

  const Sender& sender() const noexcept { return sender_; }

  bool is_queued_for_flush() const noexcept { return is_queued_for_flush_; }

  void set_queued_for_flush(bool is_queued) noexcept {
    is_queued_for_flush_ = is_queued;
  }

  void set_timed(bool is_timed) noexcept { is_timed_ = is_timed; }

 private:
  /// Where the last part of a message is read.
  enum class Source : std::uint8_t {
    kCopy,       ///< In the fragment.
    kOperation,  ///< In place, until the end of its operation.
    kRegion,     ///< In place, and the program may unmap it.
  };

  Status append(std::span<const std::span<const std::byte>> parts,
                transport::Ordering ordering,
                Source source);
  void queue_for_flush();
  void update_deadline();
  PacketHeader make_header(PacketType type, SackBitmap& sack, TimePoint now);
  Datagram make_packet(Fragment& fragment, TimePoint now);
  bool transmit(Fragment& fragment, TimePoint now);
  std::size_t longest_train() const noexcept;
  bool may_wait_for_train() const noexcept;
  bool suits_in_place(std::span<const std::byte> data) const noexcept;
  bool transmit_pending();
  bool transmit_train(std::span<Fragment* const> train, TimePoint now);
  bool send_ack(PacketType type, std::uint64_t probe, TimePoint now);
  bool answer_size_probe();
  bool probe_size();
  void use_size() noexcept;
  void on_black_hole(TimePoint now) noexcept;
  Status send_first(const Datagram& datagram, std::uint64_t txno);
  bool count_sent(Status status, const Datagram& datagram);
  void on_send_error(int error, std::size_t bytes);
  void deliver(std::span<const std::byte> payload,
               transport::MessageSink& sink);
  void on_fragment(const PacketView& packet, transport::MessageSink& sink);
  bool keep_early(const PacketView& packet);

  /// Guarded by the engine's mutex, as all of the transport. Only the functions
  /// of this class write the fields. The transport, which owns the two lists,
  /// writes their flags as well.
  SharedState& shared_;
  transport::ProcId peer_;
  transport::Color color_;
  PeerPath path_;                     ///< Where datagrams go; set once.
  bool has_failed_ = false;           ///< Set by fail(), for good.
  bool is_queued_for_flush_ = false;  ///< In SharedState::to_flush.
  bool is_timed_ = false;             ///< In SharedState::timed.
  /// errno value of the last datagram; 0: it was sent. Written by
  /// on_send_error().
  int send_error_ = 0;
  GrantBudget::Stream granted_stream_;  ///< Written by shared_.grants.
  /// Packets that were made so far; see PacketGuard. Counted by make_header().
  std::uint64_t txno_ = 0;
  /// The peer's probe that is to be answered; 0: none. Set by on_packet(), and
  /// reset by answer_size_probe().
  std::uint64_t size_probe_ = 0;
  std::unique_ptr<PeerCounts> counts_;  ///< Null without a statistics file.
  PathMtu mtu_;            ///< Written by probes, their acks and black holes.
  ReplayWindow replays_;   ///< Transmissions of the peer that were taken.
  Connection connection_;  ///< Its connected socket, if it has one.
  Sender sender_;          ///< The stream to the peer.
  Receiver receiver_;      ///< The stream from the peer.
};

}  // namespace acp::udp
