// The receiving part of Endpoint. A packet that passed every check goes to the
// Sender (its ack), to the Receiver (its fragment) and to the sink (messages).
// Called by UdpTransport::poll; sends nothing itself.
#include <cstring>

#include "udp/endpoint.h"

namespace acp::udp {

bool Endpoint::accept(std::uint64_t txno) noexcept {
  const bool is_new = replays_.is_new(txno);
  if (is_new) {
    replays_.take(txno);
  }
  return is_new;
}

/// Probes come first: they carry no ack and no payload. Acks come before the
/// fragment, because they may open the window for a reply that the sink sends
/// while it takes the fragment's messages.
void Endpoint::on_packet(const PacketView& packet,
                         transport::MessageSink& sink) {
  sender_.on_heard(shared_.now);
  if (packet.header.type == PacketType::kSizeProbe) {
    size_probe_ = packet.header.txno;
    queue_for_flush();
    return;
  }
  if (packet.header.type == PacketType::kProbeReply) {
    mtu_.on_probe_acked(packet.header.echo);
    use_size();
    return;
  }
  connection_.on_echo(packet.header.echo);
  if (const std::size_t needless = sender_.on_ack(packet, shared_.now)) {
    shared_.counters.needless += needless;
    if (counts_) {
      counts_->needless += needless;
    }
    connection_.on_needless_loss();
  }
  if (packet.header.type == PacketType::kData) {
    on_fragment(packet, sink);
  }
  if (sender_.has_pending() || receiver_.owes_ack_now(shared_.now)) {
    queue_for_flush();
  }
  update_deadline();
}

/// An ack names a fragment only after its messages were handed over. The sink
/// may send to this peer meanwhile, and that packet must not acknowledge them
/// yet.
void Endpoint::on_fragment(const PacketView& packet,
                           transport::MessageSink& sink) {
  shared_.grants.on_fragment(granted_stream_, packet.payload.size(),
                             shared_.now);
  Receiver::Verdict verdict = receiver_.judge(packet.header);
  if (verdict == Receiver::Verdict::kEarly && !keep_early(packet)) {
    verdict = Receiver::Verdict::kDrop;
  }
  shared_.counters.duplicates +=
      verdict == Receiver::Verdict::kDuplicate ? 1 : 0;
  shared_.counters.not_held += verdict == Receiver::Verdict::kDrop ? 1 : 0;
  if (verdict != Receiver::Verdict::kDeliver) {
    receiver_.on_arrival(packet.header, verdict, shared_.now,
                         shared_.now - packet.waited);
    return;
  }
  deliver(packet.payload, sink);
  receiver_.on_arrival(packet.header, verdict, shared_.now,
                       shared_.now - packet.waited);
  receiver_.mark_delivered(packet.header);
  while (const Fragment* fragment = receiver_.ready()) {
    deliver(fragment->bytes(), sink);
    receiver_.finish_held();
  }
}

/// Copies the fragment: few come early, and the buffer in which it lies may
/// have others behind it. False: the pool has no buffer.
bool Endpoint::keep_early(const PacketView& packet) {
  Fragment* held = shared_.pool.acquire();
  if (held == nullptr) {
    return false;
  }
  std::memcpy(held->payload, packet.payload.data(), packet.payload.size());
  held->payload_bytes = packet.payload.size();
  receiver_.keep_early(packet.header, held);
  ++shared_.counters.held;
  return true;
}

void Endpoint::deliver(std::span<const std::byte> payload,
                       transport::MessageSink& sink) {
  while (!payload.empty()) {
    ++shared_.counters.delivered;
    sink.on_message(peer_, color_, take_message(payload));
  }
}

}  // namespace acp::udp
