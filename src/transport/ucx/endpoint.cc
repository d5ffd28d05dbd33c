// Messages of an endpoint: batching into packets, arrivals in order. Called by
// the engine, and by callbacks of UCX within poll(). It never blocks, and no
// message may overtake an earlier one.
#include "transport/ucx/endpoint.h"

#include <algorithm>
#include <cstring>

#include "base/log.h"

namespace acp::ucx {

namespace {

/// The id of the only active message. UCP counts them per worker.
constexpr unsigned kMessageId = 0;

}  // namespace

Endpoint::Endpoint(SharedState& shared,
                   Worker& worker,
                   transport::ProcId peer,
                   const AddressCard& card,
                   PeerLocality locality)
    : shared_(shared),
      worker_(worker),
      peer_(peer),
      card_(card),
      locality_(locality),
      controls_(*this, shared.regions, shared.counters.control) {}

Endpoint::~Endpoint() = default;

/// An rkey ends before its endpoint, which ends with the worker. A request that
/// closes an endpoint must not outlive the worker either.
void Endpoint::release() noexcept {
  controls_.clear();
  if (closing_ != nullptr) {
    ucp_request_free(closing_);
    closing_ = nullptr;
  }
}

Status Endpoint::send(std::span<const std::span<const std::byte>> parts,
                      transport::Ordering /*ordering*/) {
  if (state_ == EndpointState::kFailed) {
    return Status::kPeerDead;
  }
  if (state_ == EndpointState::kGone) {
    misses_peer_ = true;
    return Status::kAgain;
  }
  return append(FrameKind::kMessage, parts);
}

/// Copies a frame into the open packet. A packet that has no room for it is
/// sent first, which takes an endpoint that is ready. UCX may refuse that
/// packet. Then the peer is gone, and the frame waits for its caller's next
/// try.
Status Endpoint::append(FrameKind kind,
                        std::span<const std::span<const std::byte>> parts) {
  std::size_t size = 0;
  for (const auto part : parts) {
    size += part.size();
  }
  if (size > kMaxMessage) {
    return Status::kTooLarge;
  }
  if (open_ != nullptr &&
      open_->bytes + kFrameHeaderBytes + size > kPacketBytes &&
      (!send_packet() || state_ == EndpointState::kGone)) {
    return Status::kAgain;
  }
  if (open_ == nullptr) {
    open_ = &shared_.packets.take();
    open_->endpoint = this;
    open_->bytes = kPacketHeaderBytes;
    open_->has_message = false;
  }
  std::byte* at = open_->memory.get() + open_->bytes;
  encode_frame_header(kind, size, at);
  at += kFrameHeaderBytes;
  for (const auto part : parts) {
    if (!part.empty()) {
      std::memcpy(at, part.data(), part.size());
      at += part.size();
    }
  }
  open_->bytes += kFrameHeaderBytes + size;
  open_->has_message = open_->has_message || kind == FrameKind::kMessage;
  queue_for_flush();
  return Status::kOk;
}

void Endpoint::queue_for_flush() {
  if (!is_queued_for_flush_) {
    is_queued_for_flush_ = true;
    shared_.to_flush.push_back(this);
  }
}

/// Gives the open packet to UCX. False: there is no room, or no UCP endpoint
/// yet. Eager packets only: the receiver of a rendezvous would have to fetch
/// them.
bool Endpoint::send_packet() {
  if (state_ != EndpointState::kReady || packets_ == kPacketWindow) {
    return false;
  }
  Packet& packet = *open_;
  open_ = nullptr;
  encode_packet_header({shared_.me, next_sent_++, shared_.job},
                       packet.memory.get());
  ++shared_.counters.sent;
  ++packets_;
  messages_ += packet.has_message ? 1 : 0;
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                       UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS |
                       UCP_OP_ATTR_FIELD_MEMORY_TYPE;
  param.cb.send = on_packet_sent_callback;
  param.user_data = &packet;
  param.flags = UCP_AM_SEND_FLAG_EAGER;
  param.memory_type = UCS_MEMORY_TYPE_HOST;
  ucs_status_ptr_t request = ucp_am_send_nbx(
      ucp_, kMessageId, nullptr, 0, packet.memory.get(), packet.bytes, &param);
  if (!UCS_PTR_IS_PTR(request)) {
    on_packet_sent(packet, UCS_PTR_STATUS(request));
  }
  return true;
}

void Endpoint::on_packet_sent(Packet& packet, ucs_status_t status) {
  --packets_;
  messages_ -= packet.has_message ? 1 : 0;
  shared_.packets.give(packet);
  if (status != UCS_OK) {
    misses_peer_ = misses_peer_ || packet.has_message;
    on_peer_gone(ucs_status_string(status));
  }
}

void Endpoint::on_packet_sent_callback(void* request,
                                       ucs_status_t status,
                                       void* packet) {
  ucp_request_free(request);
  auto& sent = *static_cast<Packet*>(packet);
  if (!sent.endpoint->shared_.is_ending) {
    sent.endpoint->on_packet_sent(sent, status);
  }
}

/// Packets are taken in the order in which they were sent.
void Endpoint::on_packet(const PacketHeader& header,
                         std::span<const std::byte> packet) {
  if (state_ == EndpointState::kFailed) {
    return;
  }
  ++shared_.counters.received;
  if (header.number != next_expected_) {
    ++shared_.counters.early;
    early_.emplace(header.number,
                   std::vector<std::byte>(packet.begin(), packet.end()));
    return;
  }
  ++next_expected_;
  take_packet(packet);
  for (auto next = early_.find(next_expected_); next != early_.end();
       next = early_.find(next_expected_)) {
    const std::vector<std::byte> bytes = std::move(next->second);
    early_.erase(next);
    ++next_expected_;
    take_packet(bytes);
  }
}

void Endpoint::take_packet(std::span<const std::byte> packet) {
  const bool is_good = for_each_frame(
      packet, [this](FrameKind kind, std::span<const std::byte> frame) {
        if (kind == FrameKind::kControl) {
          return on_control(frame);
        }
        ++shared_.counters.delivered;
        shared_.sink->on_message(peer_, worker_.color(), frame);
        return true;
      });
  if (!is_good) {
    on_peer_gone("it has sent a damaged packet");
    misses_peer_ = true;
  }
}

}  // namespace acp::ucx
