// Polling and flushing: brings datagrams from the sockets to the endpoints, and
// unsent data of the endpoints to the sockets. Called by the engine; never
// blocks.
#include "udp/udp_transport.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "base/log.h"
#include "udp/statistics.h"

namespace acp::udp {

namespace {

/// One poll begins to take no more trains of a color after this many datagrams
/// or bytes. A sender with a full window waits for the acks, which leave after
/// the poll.
constexpr std::size_t kBurst = 16;
constexpr std::size_t kBurstBytes = std::size_t{128} << 10;
constexpr std::size_t kPoolBytes = std::size_t{64} << 20;
/// A larger window would only fill caches.
constexpr std::uint64_t kMaxWindowBytes = std::uint64_t{1} << 20;
/// With more peers than this in to_flush, batching is off: looking at each in
/// every pass would cost too much.
constexpr std::size_t kMaxBatchingPeers = 16;

/// A nonce has 24 bits for a process.
constexpr std::uint32_t kMaxProcs = 1 << 24;

std::size_t pool_fragments(const UdpOptions& options) {
  return options.max_fragments != 0
             ? options.max_fragments
             : std::clamp<std::size_t>(kPoolBytes / options.datagram_bytes,
                                       1024, 16'384);
}

transport::Color colors_of(const DatagramSocket& socket) {
  return static_cast<transport::Color>(socket.addresses().size());
}

/// Counts for a peer, if there is one and its counts are kept.
void count(Endpoint* endpoint,
           std::uint64_t PeerCounts::*field,
           std::uint64_t by = 1) {
  if (endpoint != nullptr && endpoint->counts() != nullptr) {
    endpoint->counts()->*field += by;
  }
}

/// Half of the receive buffer at most, so that one peer cannot fill it alone.
std::uint64_t window_for(const UdpOptions& options,
                         const DatagramSocket& socket) {
  return options.window_bytes != 0
             ? options.window_bytes
             : std::min<std::uint64_t>(kMaxWindowBytes,
                                       socket.receive_buffer_bytes() / 2);
}

StreamLimits limits_for(const UdpOptions& options,
                        const DatagramSocket& socket) {
  StreamLimits limits;
  limits.silence = options.silence;
  limits.fragment_bytes = options.datagram_bytes - kHeadroomBytes;
  limits.window_bytes = window_for(options, socket);
  limits.is_window_fixed = options.window_bytes != 0;
  limits.first_grant = options.first_grant;
  limits.first_seq = options.first_seq;
  limits.is_core_bound = options.ranks_per_core >= kCoreBoundRanks;
  limits.rto_floor = rto_floor(options.ranks_per_core);
  return limits;
}

}  // namespace

/// Takes the limits from the bound sockets, then encodes the address card.
UdpTransport::UdpTransport(UdpOptions options,
                           std::unique_ptr<DatagramSocket> socket,
                           const Clock& clock)
    : options_(std::move(options)),
      socket_(std::move(socket)),
      pool_(options_.datagram_bytes, pool_fragments(options_)),
      guard_(options_.security,
             options_.secret,
             colors_of(*socket_),
             options_.aes),
      shared_{.socket = *socket_,
              .clock = clock,
              .pool = pool_,
              .guard = guard_,
              .grants = {socket_->receive_buffer_bytes(),
                         window_for(options_, *socket_)}},
      endpoints_(options_.procs, colors_of(*socket_)),
      admission_(options_.security, options_.name_of),
      carrier_(pool_.acquire()),
      next_suspect_(options_.me) {
  ACP_ASSERT(options_.datagram_bytes >= kMinDatagramBytes &&
             options_.datagram_bytes <= kMaxDatagramBytes);
  ACP_ASSERT(carrier_ != nullptr && options_.procs <= kMaxProcs);
  shared_.me = options_.me;
  shared_.name_of = options_.name_of;
  shared_.epoch = options_.epoch;
  shared_.counts_peers = !options_.stats_file.empty();
  shared_.limits = limits_for(options_, *socket_);
  capabilities_.max_message =
      shared_.limits.fragment_bytes - kMessagePrefixBytes;

  // The sockets are bound, so their addresses and ports are final.
  const std::span<const Address> addresses = socket_->addresses();
  AddressCard card;
  card.colors = colors_of(*socket_);
  card.datagram_bytes = static_cast<std::uint16_t>(options_.datagram_bytes);
  card.security = options_.security;
  card.has_aes = options_.aes != nullptr;
  std::copy(addresses.begin(), addresses.end(), card.addresses.begin());
  std::ranges::copy(socket_->send_ports(), card.send_ports.begin());
  card_bytes_ = encode_card(card, card_);
  capabilities_.colors = card.colors;
  log(LogLevel::kDebug, "udp: packets {} ({})", text_of(options_.security),
      guard_.describe());
}

/// Runs in acp_finalize. Tests read counts of this line by the words around
/// them: batching_test.cc, crowd_test.cc and incast_test.cc.
UdpTransport::~UdpTransport() {
  tell_statistics();
  const Counters& c = shared_.counters;
  log(LogLevel::kDebug,
      "udp: sent {} ({} connected, {} pure acks, {} again, {} of these for "
      "nothing, {} refused), "
      "received {} "
      "({} twice, {} held, {} not held), dropped {} malformed, {} stray, {} "
      "from wrong addresses, {} corrupt, {} replayed",
      c.sent, c.connected, c.pure_acks, c.sent_again, c.needless, c.refused,
      c.received, c.duplicates, c.held, c.not_held, c.malformed, c.strays,
      c.unknown, c.corrupt, c.replayed);
}

void UdpTransport::tell_statistics() {
  if (options_.publish) {
    options_.publish(traffic_of(shared_));
  }
  if (!options_.stats_file.empty()) {
    write_statistics(options_.stats_file, shared_, endpoints_.all());
  }
}

Result<transport::Endpoint*> UdpTransport::endpoint(transport::ProcId peer,
                                                    transport::Color color) {
  if (color >= capabilities_.colors) {
    return Status::kBadColor;
  }
  if (peer >= options_.procs) {
    return Status::kBadRank;
  }
  if (Endpoint* endpoint = endpoints_.find(peer, color); endpoint != nullptr) {
    return endpoint;
  }
  const Result<Endpoint*> endpoint =
      make_endpoint(peer, color, read_card(peer));
  return endpoint.ok() ? Result<transport::Endpoint*>(endpoint.value())
                       : Result<transport::Endpoint*>(endpoint.status());
}

/// kProtocol, not logged: the process has no valid address card. kAborted: the
/// job ends.
Result<AddressCard> UdpTransport::read_card(transport::ProcId peer) const {
  const auto bytes = options_.card_of(peer);
  if (!bytes.ok()) {
    return bytes.status();
  }
  const auto card = decode_card(*bytes);
  return card ? Result<AddressCard>(*card) : Status::kProtocol;
}

/// Refuses a peer whose address card does not fit this process's settings.
Result<Endpoint*> UdpTransport::make_endpoint(transport::ProcId peer,
                                              transport::Color color,
                                              const Result<AddressCard>& card) {
  if (const Status status = admission_.admit(peer, card, socket_->addresses());
      status != Status::kOk) {
    return status;
  }
  return endpoints_.insert(
      std::make_unique<Endpoint>(shared_, peer, color, path_to(*card, color)),
      peer, color);
}

PeerPath UdpTransport::path_to(const AddressCard& card,
                               transport::Color color) const {
  return {card.addresses[color], card.send_ports[color],
          static_cast<std::uint16_t>(std::min<std::size_t>(
              card.datagram_bytes, pool_.datagram_bytes())),
          guard_.cipher_with(card.has_aes)};
}

/// Arrivals first, then timers: an ack that has arrived must be taken before a
/// time-out is judged.
std::size_t UdpTransport::poll(transport::MessageSink& sink) {
  const std::uint64_t before = shared_.counters.delivered;
  shared_.is_polling = true;
  shared_.now = shared_.clock.now();  // here, not between arrival and answer
  Drained all{0, true};
  for (transport::Color color = 0; color < capabilities_.colors; ++color) {
    const Drained drained = drain(color, sink);
    all.datagrams += drained.datagrams;
    all.is_empty &= drained.is_empty;
  }
  had_arrivals_ = all.datagrams != 0;
  admission_.report(sink);
  if (shared_.now >= next_silence_check_) {
    check_for_silence();
    if (options_.publish) {
      options_.publish(traffic_of(shared_));
    }
  }
  if (shared_.now < shared_.deadline) {
    taken_when_due_ = 0;
    nothing_due_ = shared_.now;
  } else {
    run_timers(what_is_due(all), sink);
  }
  shared_.is_polling = false;
  return static_cast<std::size_t>(shared_.counters.delivered - before);
}

/// Takes datagrams of one color. In an exchange of single packets the answer
/// must not wait for a second receive call that finds nothing. So a second call
/// is made only for a color with bursts, or after a packet that is most likely
/// part of a large copy. There the call is cheap, and one ack answers both.
UdpTransport::Drained UdpTransport::drain(transport::Color color,
                                          transport::MessageSink& sink) {
  std::size_t count = 0;
  std::size_t limit = is_bursty_[color] ? kBurst : 1;
  bool is_empty = false;
  bool is_in_train = false;
  std::size_t bytes = 0;
  for (; is_in_train || (count < limit && bytes < kBurstBytes); ++count) {
    const auto arrival = socket_->receive(color, pool_.receive_area(*carrier_));
    if (!arrival) {
      is_empty = true;
      break;
    }
    ++shared_.counters.received;
    shared_.counters.received_bytes += arrival->bytes;
    // Earlier datagrams took time. Arrival::waited of a whole train ends when
    // the train was taken, so `now` stays that time.
    if (!is_in_train && (count > 0 || color > 0)) {
      shared_.now = shared_.clock.now();
    }
    is_in_train = arrival->has_next_of_train;
    on_datagram(color, *arrival, sink);
    bytes += arrival->bytes;
    if (arrival->bytes > pool_.datagram_bytes() / 2) {
      limit = kBurst;
    }
  }
  if (count > 1 || (count == 1 && limit == 1)) {
    is_bursty_[color] = count > 1 || had_arrivals_;
  } else if (count == 1) {
    is_bursty_[color] = false;
  }
  return {count, is_empty};
}

bool UdpTransport::is_for_us(const PacketHeader& header) noexcept {
  return header.epoch == options_.epoch && header.destination == options_.me &&
         header.source < options_.procs;
}

/// Cheap checks come first and the tag last. No state changes before all have
/// passed, and a packet that fails is only counted.
void UdpTransport::on_datagram(transport::Color color,
                               const DatagramSocket::Arrival& arrival,
                               transport::MessageSink& sink) {
  Counters& counters = shared_.counters;
  if (arrival.bytes > pool_.datagram_bytes()) {
    ++counters.malformed;
    return;
  }
  const std::span<std::byte> datagram = arrival.datagram;
  auto packet = decode_packet(datagram);
  if (!packet) {
    ++counters.malformed;
    return;
  }
  if (!is_for_us(packet->header)) {
    ++counters.strays;
    return;
  }
  packet->waited = arrival.waited;
  const transport::ProcId source = packet->header.source;
  Endpoint* endpoint = endpoints_.find(source, color);
  if (endpoint == nullptr) {
    endpoint = meet_source(color, arrival, *packet);
    if (endpoint == nullptr) {
      return;
    }
  } else if (!is_acceptable(endpoint->path(), color, arrival, *packet,
                            endpoint)) {
    return;
  }
  if (!endpoint->accept(packet->header.txno)) {
    ++counters.replayed;
    count(endpoint, &PeerCounts::replayed);
    return;
  }
  count(endpoint, &PeerCounts::received);
  count(endpoint, &PeerCounts::received_bytes, arrival.bytes);
  if (!endpoint->has_failed()) {
    endpoint->on_packet(*packet, sink);
  }
}

/// The endpoint for the source of its first packet, or null: the packet is
/// counted and dropped. The address card is decoded on the stack: nothing is
/// allocated for a packet that is not authentic. Where the launcher has to be
/// asked for the address card, a forged packet must not cause that. So the tag
/// is checked by every key of the job before.
Endpoint* UdpTransport::meet_source(transport::Color color,
                                    const DatagramSocket::Arrival& arrival,
                                    const PacketView& packet) {
  const transport::ProcId source = packet.header.source;
  if (options_.fetches_cards &&
      !guard_.is_of_job(color, packet.header, arrival.datagram)) {
    ++shared_.counters.corrupt;
    return nullptr;
  }
  const Result<AddressCard> card = read_card(source);
  if (!is_acceptable(path_by(card, color), color, arrival, packet, nullptr)) {
    return nullptr;
  }
  const Result<Endpoint*> made = make_endpoint(source, color, card);
  return made.ok() ? made.value() : nullptr;
}

/// Whether the packet came by this path, is authentic and holds whole messages.
/// `endpoint` may be null, or else counts as well.
bool UdpTransport::is_acceptable(const PeerPath& path,
                                 transport::Color color,
                                 const DatagramSocket::Arrival& arrival,
                                 const PacketView& packet,
                                 Endpoint* endpoint) {
  Counters& counters = shared_.counters;
  if (!path.begins_at(arrival.from)) {
    ++counters.unknown;
    return false;
  }
  if (!guard_.open(path.cipher, color, packet.header, arrival.datagram)) {
    ++counters.corrupt;
    count(endpoint, &PeerCounts::corrupt);
    return false;
  }
  if (packet.header.type == PacketType::kData &&
      !has_whole_messages(packet.payload)) {
    ++counters.malformed;
    count(endpoint, &PeerCounts::malformed);
    return false;
  }
  return true;
}

/// Without a valid address card the path begins at no address.
PeerPath UdpTransport::path_by(const Result<AddressCard>& card,
                               transport::Color color) const {
  return card.ok() && color < card->colors ? path_to(*card, color) : PeerPath();
}

void UdpTransport::flush() {
  flush_endpoints(false);
}

/// Most calls leave all messages for batching.
void UdpTransport::flush_idle() {
  const bool may_batch = shared_.to_flush.size() <= kMaxBatchingPeers;
  if (!may_batch ||
      !std::ranges::all_of(shared_.to_flush, &Endpoint::may_wait_for_more)) {
    flush_endpoints(may_batch);
  }
}

/// Messages come before the acks of other streams: each datagram takes the
/// kernel some microseconds, and peers wait for messages.
void UdpTransport::flush_endpoints(bool may_batch) {
  if (shared_.to_flush.size() > 1) {
    std::partition(
        shared_.to_flush.begin(), shared_.to_flush.end(),
        [](const Endpoint* endpoint) { return endpoint->has_unsent(); });
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < shared_.to_flush.size(); ++i) {
    Endpoint* endpoint = shared_.to_flush[i];
    endpoint->set_queued_for_flush(
        (may_batch && endpoint->may_wait_for_more()) || !endpoint->transmit());
    if (endpoint->is_queued_for_flush()) {
      shared_.to_flush[kept++] = endpoint;
    }
  }
  shared_.to_flush.resize(kept);
}

/// The endpoints do not know regions, so all data in place are copied.
bool UdpTransport::on_unregistered(std::uint32_t /*key*/,
                                   std::uint64_t /*state*/) {
  forget_regions();
  return true;
}

void UdpTransport::forget_regions() {
  for (const auto* endpoints : {&shared_.to_flush, &shared_.timed}) {
    for (Endpoint* endpoint : *endpoints) {
      endpoint->reclaim_all();
    }
  }
}

std::string UdpTransport::describe_color(transport::Color color) const {
  return color < options_.color_texts.size() ? options_.color_texts[color]
                                             : std::string();
}

std::string UdpTransport::protection() const {
  return fmt::format("{} ({})", text_of(options_.security), guard_.describe());
}

TimePoint UdpTransport::next_deadline() const noexcept {
  return shared_.to_flush.empty() && !admission_.is_unreported()
             ? std::min(shared_.deadline, socket_->next_due())
             : TimePoint{};  // long ago
}

bool UdpTransport::arm() {
  flush();
  return shared_.to_flush.empty() && !admission_.is_unreported() &&
         !socket_->has_backlog();
}

}  // namespace acp::udp
