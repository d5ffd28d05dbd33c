// The part of Endpoint that finds the size of datagrams: it sends the probes
// that PathMtu asks for, and answers the peer's. Called by Endpoint::transmit.
// A probe may hold no data, because a lost probe is never sent again.
#include <algorithm>

#include "udp/endpoint.h"

namespace acp::udp {

namespace {

/// A probe counts as lost after this time at least: no other packet waits for
/// its answer, so there is no hurry.
constexpr Duration kLeastProbeTime = std::chrono::milliseconds(20);

}  // namespace

/// False: the socket has no room, call again.
bool Endpoint::answer_size_probe() {
  if (size_probe_ == 0) {
    return true;
  }
  if (!send_ack(PacketType::kProbeReply, size_probe_, shared_.time())) {
    return false;
  }
  size_probe_ = 0;
  return true;
}

/// The probe is a datagram of zeros, which no stream waits for and no window
/// counts. Without a free buffer it is left for a later call.
bool Endpoint::probe_size() {
  if (mtu_.bytes() == mtu_.most()) {
    return true;
  }
  const TimePoint now = shared_.time();
  const std::size_t bytes = mtu_.probe_due(now);
  Fragment* buffer = bytes == 0 ? nullptr : shared_.pool.acquire();
  if (buffer == nullptr) {
    return true;
  }
  SackBitmap sack;
  const PacketHeader header = make_header(PacketType::kSizeProbe, sack, now);
  const std::size_t head =
      kMinPacketBytes + ((header.flags & kFlagSack) != 0 ? kSackBytes : 0);
  const std::span<std::byte> zeros(buffer->payload, bytes - head);
  std::ranges::fill(zeros, std::byte{0});
  const Datagram datagram = shared_.guard.seal(
      path_.cipher, color_, header, encode_packet(header, sack, zeros), {});
  const Status status = shared_.socket.send(color_, path_.address, datagram);
  shared_.pool.release(buffer);
  if (status == Status::kAgain) {
    return false;
  }
  if (status == Status::kSystem) {
    mtu_.on_probe_refused();
    return mtu_.probe_due(now) == 0;  // false: the next smaller size
  }
  ++shared_.counters.sent;
  shared_.counters.sent_bytes += bytes;
  if (counts_) {
    ++counts_->sent;
    counts_->sent_bytes += bytes;
  }
  ++shared_.counters.size_probes;
  mtu_.on_probe_sent(
      header.txno,
      std::max<Duration>(2 * sender_.rtt().rto(kMinRto), kLeastProbeTime), now);
  return true;
}

}  // namespace acp::udp
