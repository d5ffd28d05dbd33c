// The sending part of Endpoint: takes messages, sends fragments and acks, and
// reports errors of sending. Called by the engine and by UdpTransport, with the
// engine's mutex held. It never blocks: what the socket refuses waits for a
// later flush.
#include "udp/endpoint.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <optional>
#include <utility>

#include "base/assert.h"
#include "base/inline_vector.h"
#include "base/log.h"

namespace acp::udp {

namespace {

/// Batching stops at this size: on loopback, half of such a datagram's cost is
/// its bytes, so a larger one saves little and waits longer.
constexpr std::size_t kBatchBytes = 32'768;
/// The first batch leaves after so many messages, so that the peer works on it
/// while the program issues the next ones. Each further batch may be twice as
/// large while no ack comes, so that a long run takes few datagrams.
constexpr std::uint64_t kFirstBatchMessages = 32;
constexpr std::uint64_t kMostDoublings = 5;
/// Data below this size are cheaper to copy than to send in place.
constexpr std::size_t kMinInPlaceBytes = 8192;
/// How long the bytes of regions are copied after data in place was sent again.
/// A time-out takes up to 20 ms, so memory that always changes costs 2 % of it.
constexpr Duration kCopyTime = std::chrono::seconds(1);
/// A train is sent as one datagram of the system, which has 65,507 bytes at
/// most.
constexpr std::size_t kTrainBytes = 65'000;
static_assert(kTrainBytes <= PacketGuard::kKeptBytes);
constexpr Duration kWarningInterval = std::chrono::seconds(1);

Sender::Window window_on(const PeerPath& path, const StreamLimits& limits) {
  return path.is_local() || limits.is_window_fixed ? Sender::Window::kFixed
                                                   : Sender::Window::kAdaptive;
}

/// Bytes of a datagram that are not data of its message.
constexpr std::size_t kOverhead = kHeadroomBytes + kMessagePrefixBytes;
/// A fragment that was sent this often without an ack is too large for its
/// path.
constexpr std::uint32_t kTransmissionsOfBlackHole = 4;

/// Advice for the user about an errno value of sending.
const char* advice_for(int error) {
  switch (error) {
    case ENETUNREACH:
    case EHOSTUNREACH:
    case ENETDOWN:
      return "look whether the interface is up (ip address) and a route leads "
             "there (ip route get)";
    case EPERM:
    case EACCES:
      return "a firewall rule forbids it: allow UDP between the hosts of the "
             "job (nft list ruleset, iptables -L OUTPUT)";
    case EADDRNOTAVAIL:
      return "the address that this rank sends from is gone: set it up again "
             "(ip address)";
    case EMSGSIZE:
      return "the datagram is larger than the MTU: set ACP_UDP_DATAGRAM lower, "
             "to 1400 or less";
    default: return "look at the interfaces, routes and firewall of this host";
  }
}

}  // namespace

Endpoint::Endpoint(SharedState& shared,
                   transport::ProcId peer,
                   transport::Color color,
                   const PeerPath& path)
    : shared_(shared),
      peer_(peer),
      color_(color),
      path_(path),
      counts_(shared.counts_peers ? std::make_unique<PeerCounts>() : nullptr),
      mtu_(path.is_local() ? path.most_bytes : PathMtu::kBase, path.most_bytes),
      connection_(shared.socket, shared.connections),
      sender_(shared.pool, shared.limits, window_on(path, shared.limits)),
      receiver_(shared.pool, shared.limits) {
  use_size();
}

void Endpoint::queue_for_flush() {
  if (!is_queued_for_flush_) {
    is_queued_for_flush_ = true;
    shared_.to_flush.push_back(this);
  }
}

void Endpoint::update_deadline() {
  const TimePoint mine = deadline();
  if (mine == TimePoint::max()) {
    return;
  }
  shared_.deadline = std::min(shared_.deadline, mine);
  if (!is_timed_) {
    is_timed_ = true;
    shared_.timed.push_back(this);
  }
}

Status Endpoint::send(std::span<const std::span<const std::byte>> parts,
                      transport::Ordering ordering) {
  return append(parts, ordering, Source::kCopy);
}

/// No message can follow in the datagram, so data in place must fill most of
/// it.
bool Endpoint::suits_in_place(std::span<const std::byte> data) const noexcept {
  return data.size() >= kMinInPlaceBytes &&
         data.size() > (path_.most_bytes - kOverhead) / 2 &&
         shared_.guard.takes_tail(path_.cipher);
}

Status Endpoint::send_in_place(
    std::span<const std::span<const std::byte>> parts,
    transport::Ordering ordering) {
  return append(
      parts, ordering,
      suits_in_place(parts.back()) ? Source::kOperation : Source::kCopy);
}

/// Bytes that change while they are sent cost a retransmission. So after one,
/// bytes of regions are copied for a while. Inside a host no rate keeps a
/// fragment back, so append() sends it at once, or copies it.
Status Endpoint::send_from_region(
    std::span<const std::span<const std::byte>> parts,
    transport::Ordering ordering) {
  const bool is_in_place = path_.is_local() && suits_in_place(parts.back()) &&
                           shared_.time() >= shared_.copies_regions_until;
  return append(parts, ordering, is_in_place ? Source::kRegion : Source::kCopy);
}

/// Two messages at least fill a grant, so that the second is under way while
/// the first is acknowledged.
std::size_t Endpoint::good_message() const noexcept {
  std::size_t datagram = mtu_.bytes();
  if (const std::uint64_t granted = sender_.granted(); granted != 0) {
    const std::size_t least = std::min(PathMtu::kBase, datagram);
    datagram = std::clamp<std::size_t>(granted / 2, least, datagram);
  }
  return datagram - kOverhead;
}

void Endpoint::use_size() noexcept {
  sender_.set_packed_bytes(mtu_.bytes() - kHeadroomBytes);
}

void Endpoint::on_black_hole(TimePoint now) noexcept {
  if (mtu_.bytes() > PathMtu::kBase && !path_.is_local()) {
    mtu_.on_black_hole(now);
    use_size();
  }
}

/// Fragments that leave together may wait for each other until flush().
bool Endpoint::may_wait_for_train() const noexcept {
  return sender_.pending() + 1 < longest_train() && !path_.is_local();
}

/// A full open fragment is sent, at once or with those that follow it, and a
/// new one opened. So kAgain means a full window, pool or socket.
Status Endpoint::append(std::span<const std::span<const std::byte>> parts,
                        transport::Ordering ordering,
                        Source source) {
  if (has_failed_) {
    return Status::kPeerDead;
  }
  std::size_t bytes = 0;
  for (const std::span<const std::byte> part : parts) {
    bytes += part.size();
  }
  if (bytes > path_.most_bytes - kOverhead) {
    return Status::kTooLarge;
  }
  if (bytes > mtu_.bytes() / 2) {
    mtu_.want();
  }
  const auto append = [&] {
    return source == Source::kCopy
               ? sender_.append(parts, bytes, ordering)
               : sender_.append_in_place(parts, bytes, ordering,
                                         source == Source::kRegion);
  };
  Status status = append();
  if (status == Status::kAgain && sender_.has_open()) {
    if (may_wait_for_train()) {
      sender_.close();
    } else {
      transmit();
    }
    status = append();
  }
  if (status == Status::kOk) {
    queue_for_flush();
    if (source == Source::kRegion && !transmit()) {
      sender_.reclaim_unsent();
    }
  }
  return status;
}

/// Fragments first, since they carry the ack. What the rate forbids stays
/// pending; the deadline brings the endpoint back.
bool Endpoint::transmit() {
  sender_.close();
  while (sender_.has_pending() &&
         (!sender_.is_paced() || sender_.may_send(shared_.time()))) {
    if (!transmit_pending()) {
      return false;
    }
  }
  bool is_sent = true;
  if (receiver_.owes_ack()) {
    const TimePoint now = shared_.time();
    is_sent =
        !receiver_.owes_ack_now(now) || send_ack(PacketType::kAck, 0, now);
  }
  is_sent = is_sent && answer_size_probe() && probe_size();
  update_deadline();
  return is_sent;
}

bool Endpoint::may_wait_for_more() const noexcept {
  if (!sender_.has_unacknowledged() || sender_.has_pending()) {
    return false;
  }
  const std::uint64_t unacknowledged =
      sender_.fragments_in_window() - (sender_.has_open() ? 1 : 0);
  return sender_.open_bytes() < kBatchBytes &&
         sender_.open_messages() < kFirstBatchMessages << std::min(
                                       unacknowledged - 1, kMostDoublings);
}

PacketHeader Endpoint::make_header(PacketType type,
                                   SackBitmap& sack,
                                   TimePoint now) {
  PacketHeader header;
  header.type = type;
  header.epoch = shared_.epoch;
  header.source = shared_.me;
  header.destination = peer_;
  header.txno = ++txno_;
  ACP_ASSERT(txno_ <= kMaxTxno);
  header.grant = shared_.grants.kib_for(granted_stream_);
  receiver_.fill(header, sack, now);
  return header;
}

Status Endpoint::send_first(const Datagram& datagram, std::uint64_t txno) {
  const std::optional<Status> status =
      connection_.send(color_, path_.address, datagram, txno);
  shared_.counters.connected +=
      status == Status::kOk ? datagram.datagrams() : 0;
  return status ? *status
                : shared_.socket.send(color_, path_.address, datagram);
}

/// Counts a datagram or a train that was given to the socket. False: the socket
/// had no room. A datagram that the system refuses counts as sent and lost: it
/// is sent again, because a route or an interface may come back.
bool Endpoint::count_sent(Status status, const Datagram& datagram) {
  if (status == Status::kAgain) {
    ++shared_.counters.refused;
    return false;
  }
  shared_.counters.sent += datagram.datagrams();
  shared_.counters.sent_bytes += datagram.size();
  if (counts_) {
    counts_->sent += datagram.datagrams();
    counts_->sent_bytes += datagram.size();
  }
  const int error = status == Status::kOk ? 0 : shared_.socket.send_error();
  shared_.counters.unsent += error != 0 ? datagram.datagrams() : 0;
  if (error != 0 || send_error_ != 0) {
    on_send_error(error, datagram.train_step != 0 ? datagram.train_step
                                                  : datagram.size());
  }
  return true;
}

/// Warns once for each change of the error, and at most once a second while the
/// same error concerns many peers. An interface whose MTU has shrunk is no
/// error: the datagram goes again, and later ones are smaller.
void Endpoint::on_send_error(int error, std::size_t bytes) {
  if (error == EMSGSIZE && bytes > PathMtu::kBase && !path_.is_local()) {
    on_black_hole(shared_.time());
    return;
  }
  const int before = std::exchange(send_error_, error);
  const TimePoint now = shared_.time();
  if (error == 0 || error == before ||
      (error == shared_.warned_error && now < shared_.muted_until)) {
    return;
  }
  shared_.warned_error = error;
  shared_.muted_until = now + kWarningInterval;
  log_warning(
      "udp: sending to {} at {}: {}; {}. It is tried again, and the peer is "
      "given up when it has been silent for ACP_UDP_SILENCE seconds",
      shared_.name_of(peer_), format_address(path_.address), errno_text(error),
      advice_for(error));
}

/// The packet of a fragment, with the current ack. It is valid until more than
/// a train has been made, see PacketGuard::seal().
Datagram Endpoint::make_packet(Fragment& fragment, TimePoint now) {
  SackBitmap sack;
  PacketHeader header = make_header(PacketType::kData, sack, now);
  header.flags |= sender_.flags_for(fragment);
  header.seq = static_cast<std::uint32_t>(fragment.seq);
  return shared_.guard.seal(
      path_.cipher, color_, header,
      encode_packet(header, sack, fragment.bytes(), fragment.tail.size()),
      fragment.tail);
}

/// Sends one fragment. The first transmission may use the connected socket; a
/// retransmission goes from the listening port.
bool Endpoint::transmit(Fragment& fragment, TimePoint now) {
  const bool is_first = fragment.transmissions == 0;
  if (!is_first) {
    connection_.on_loss();
    if (!fragment.tail.empty() && fragment.tail_may_go) {
      shared_.copies_regions_until = now + kCopyTime;
    }
    sender_.copy_tail(fragment);
  } else {
    sender_.drop_lost_tail(fragment);
  }
  if (fragment.transmissions >= kTransmissionsOfBlackHole) {
    on_black_hole(now);
  }
  Datagram datagram = make_packet(fragment, now);
  const std::uint64_t txno = txno_;
  datagram.may_be_fragmented = datagram.size() > mtu_.bytes();
  const bool may_connect = is_first && !datagram.may_be_fragmented;
  if (is_first && !may_connect) {
    connection_.on_bypass();
  }
  const Status status =
      may_connect ? send_first(datagram, txno)
                  : shared_.socket.send(color_, path_.address, datagram);
  if (!count_sent(status, datagram)) {
    return false;
  }
  shared_.counters.sent_again += is_first ? 0 : 1;
  if (counts_ && !is_first) {
    ++counts_->sent_again;
  }
  sender_.on_transmitted(fragment, txno, now);
  receiver_.on_ack_sent();
  return true;
}

/// Limited by the largest datagram of the system, which a train must not
/// exceed.
std::size_t Endpoint::longest_train() const noexcept {
  return std::min({shared_.socket.longest_train(), kLongestTrain,
                   kTrainBytes / mtu_.bytes()});
}

/// Sends the oldest pending fragment, and those after it that fit its train.
/// False: the socket has no room.
bool Endpoint::transmit_pending() {
  const TimePoint now = shared_.time();
  const std::size_t longest = path_.is_local() ? 1 : longest_train();
  if (longest <= 1 || sender_.pending() == 1) {
    return transmit(sender_.next_pending(), now);
  }
  std::array<Fragment*, kLongestTrain> room{};
  const auto train = std::span(room).first(
      sender_.next_train(std::span(room).first(longest), now));
  return train.size() == 1 || train[0]->size() + kHeadroomBytes > mtu_.bytes()
             ? transmit(*train[0], now)
             : transmit_train(train, now);
}

/// Sends the fragments with one call. Their headers have one size, because
/// nothing arrives in between: all have a SACK or none.
bool Endpoint::transmit_train(std::span<Fragment* const> train, TimePoint now) {
  InlineVector<std::span<const std::byte>, kTrainPieces> pieces;
  Datagram all;
  const std::uint64_t first_txno = txno_ + 1;
  for (Fragment* fragment : train) {
    const Datagram one = make_packet(*fragment, now);
    pieces.push_back(one.head);
    if (!one.tail.empty()) {
      pieces.push_back(one.tail);
    }
    all.train_step = std::max(all.train_step, one.size());
  }
  all.train = pieces;
  if (!count_sent(send_first(all, first_txno), all)) {
    return false;
  }
  for (std::size_t i = 0; i < train.size(); ++i) {
    sender_.on_transmitted(*train[i], first_txno + i, now);
  }
  receiver_.on_ack_sent();
  return true;
}

/// Sends the current ack without a fragment. In an answer to a size probe
/// `echo` names that probe, and the ack is still owed.
bool Endpoint::send_ack(PacketType type, std::uint64_t probe, TimePoint now) {
  std::array<std::byte, kHeadroomBytes> storage{};
  SackBitmap sack;
  PacketHeader header = make_header(type, sack, now);
  if (type == PacketType::kProbeReply) {
    header.echo = probe;
  }
  const Datagram datagram = shared_.guard.seal(
      path_.cipher, color_, header,
      encode_packet(header, sack, std::span(storage).subspan(storage.size())),
      {});
  if (!count_sent(shared_.socket.send(color_, path_.address, datagram),
                  datagram)) {
    return false;
  }
  ++shared_.counters.pure_acks;
  if (type == PacketType::kAck) {
    receiver_.on_ack_sent();
  }
  return true;
}

TimePoint Endpoint::deadline() const noexcept {
  return std::min({sender_.deadline(), receiver_.deadline(), mtu_.deadline()});
}

void Endpoint::on_timer(TimePoint now) {
  sender_.on_timer(now);
  if (sender_.unanswered() >= 2) {
    on_black_hole(now);
  }
  if (sender_.has_pending() || mtu_.deadline() <= now) {
    queue_for_flush();
  }
  on_ack_timer(now);
}

void Endpoint::on_ack_timer(TimePoint now) {
  if (receiver_.owes_ack_now(now)) {
    queue_for_flush();
  }
}

bool Endpoint::probe(TimePoint now) {
  if (has_failed_ || now - sender_.heard() < kQuiet ||
      !sender_.append_probe()) {
    return false;
  }
  queue_for_flush();
  return true;
}

std::string Endpoint::describe_silence(TimePoint now) const {
  const std::chrono::duration<double> silence = sender_.silence(now);
  const std::string refusal = send_error_ == 0
                                  ? std::string()
                                  : fmt::format(", the last was not sent ({})",
                                                errno_text(send_error_));
  return fmt::format("{:.1f} s of silence at {}, {} transmissions unanswered{}",
                     silence.count(), format_address(path_.address),
                     sender_.unanswered(), refusal);
}

void Endpoint::fail() noexcept {
  has_failed_ = true;
  connection_.close();
  sender_.abandon();
  receiver_.abandon();
  size_probe_ = 0;
  mtu_ = PathMtu(mtu_.bytes(), mtu_.bytes());  // ends a search for good
}

}  // namespace acp::udp
