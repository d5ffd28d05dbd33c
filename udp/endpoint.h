// One peer in one color: the endpoint that the engine sends to, and the two
// halves of the stream between the two processes, joined by their packets.
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

/// What happened, for tests, traces and acp_info.
struct Counters {
  std::uint64_t sent = 0;           ///< Datagrams, retransmissions included.
  std::uint64_t connected = 0;      ///< Of these, by connected sockets.
  std::uint64_t pure_acks = 0;      ///< Of these, acks without a fragment.
  std::uint64_t retransmitted = 0;  ///< Of these, fragments sent again.
  std::uint64_t spurious = 0;       ///< Of these, for nothing, as acks told.
  std::uint64_t unsent = 0;         ///< Of these, refused by the system.
  std::uint64_t refused = 0;        ///< Sends that the wire had no room for.
  std::uint64_t received = 0;       ///< Datagrams, the dropped ones included.
  std::uint64_t delivered = 0;      ///< Messages.
  std::uint64_t duplicates = 0;     ///< Fragments that had come before.
  std::uint64_t held = 0;           ///< Ordered fragments that came early.
  std::uint64_t not_held = 0;       ///< The same, dropped for want of room.
  std::uint64_t malformed = 0;      ///< Dropped: no packet of this version,
  std::uint64_t strays = 0;         ///< of another job or for another process,
  std::uint64_t unknown = 0;        ///< not from its source's address,
  std::uint64_t corrupt = 0;        ///< with a wrong tag.
};

/// What the endpoints of a transport share. The transport owns it.
struct SharedState {
  DatagramSocket& socket;
  const Clock& clock;
  FragmentPool& pool;
  TailHash tail_hash{};
  transport::ProcId me = 0;
  std::uint32_t epoch = 0;
  StreamLimits limits{};
  std::size_t max_message = 0;
  std::uint64_t txno = 0;  ///< Last one used, over all peers.
  Connection::Table connections{};
  Counters counters{};
  TimePoint now{};                    ///< Of the poll under way.
  bool is_polling = false;            ///< Then `now` is good enough.
  std::vector<Endpoint*> to_flush{};  ///< To be looked at by the next flush.
  std::vector<Endpoint*> timed{};     ///< May have a deadline.
  TimePoint deadline = TimePoint::max();  ///< No endpoint's is earlier.

  int warned_error = 0;     ///< The errno value of the last warning about
  TimePoint muted_until{};  ///< sending; until then it is not repeated.

  TimePoint time() const noexcept { return is_polling ? now : clock.now(); }
};

/// One thread at a time. Small while nothing is under way: buffers come from
/// the shared's pool.
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

  /// A packet that passed every check, in `carrier`'s buffer. Takes the
  /// carrier when it has to be kept: then it is replaced by another one.
  void on_packet(const PacketView& packet,
                 Fragment*& carrier,
                 transport::MessageSink& sink);

  /// Sends everything that can go and the ack that is due. False: the wire
  /// has no room, call again.
  bool transmit();

  /// Whether what is to be sent should be joined by more: the peer will answer
  /// soon, and little has come together.
  bool may_wait_for_more() const noexcept;

  TimePoint deadline() const noexcept;
  void on_timer(TimePoint now);
  /// Only what this process owes: a due ack.
  void on_ack_timer(TimePoint now);

  /// Asks for a sign of life when there was none for kQuiet and nothing is
  /// under way that asks for one already. The ack, or its absence, is treated
  /// as that of any fragment. False: there is no need.
  bool probe(TimePoint now);

  bool is_peer_dead(TimePoint now) const noexcept {
    return sender_.is_peer_dead(now);
  }

  /// "10.0 s of silence at 127.0.0.1:4711, 16 transmissions unanswered".
  std::string describe_silence(TimePoint now) const;

  /// Nothing goes to or comes from the peer any more.
  void fail() noexcept;

  bool has_failed() const noexcept { return has_failed_; }

  transport::ProcId peer() const noexcept { return peer_; }

  /// Whether the peer's datagrams come from there.
  bool comes_from(const Address& from) const noexcept {
    return sends_from(address_, send_port_, from);
  }

  const Sender& sender() const noexcept { return sender_; }

  bool is_queued_for_flush = false;  ///< In shared.to_flush.
  bool is_timed = false;             ///< In shared.timed.

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
  bool has_failed_ = false;
  int send_error_ = 0;  ///< Of the last datagram: an errno value, 0 for none.
  Connection connection_;
  Sender sender_;
  Receiver receiver_;
};

}  // namespace acp::udp
