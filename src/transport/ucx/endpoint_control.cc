// Control frames of an endpoint: the part of ControlFrames that needs the UCP
// endpoint. Called by the other parts of Endpoint, by ControlFrames and by
// UcxTransport. Nothing here waits, and no frame leaves an endpoint that is not
// ready.
#include "base/log.h"
#include "transport/ucx/endpoint.h"

namespace acp::ucx {

/// Only a ready endpoint sends frames.
Status Endpoint::append_control(std::span<const std::byte> frame) {
  return state_ == EndpointState::kReady
             ? append(FrameKind::kControl, {&frame, 1})
             : Status::kAgain;
}

/// An idle endpoint becomes ready when it is flushed.
bool Endpoint::may_answer() const noexcept {
  return state_ == EndpointState::kIdle || state_ == EndpointState::kReady;
}

/// UCX's atomics reach the memory of every color by color 0.
bool Endpoint::has_any_color() const noexcept {
  return shared_.executes_atomics && worker_.color() == 0;
}

void Endpoint::forget_regions() noexcept {
  controls_.clear();
}

/// False: the bytes are no valid control frame. When a peer that is gone asks,
/// it has been lost at this end only. It may wait for the answer for ever, so
/// it is missed, and fails.
bool Endpoint::on_control(std::span<const std::byte> bytes) {
  const auto unpack = [this](std::span<const std::byte> rkey) {
    return unpack_rkey(rkey);
  };
  const transport::FrameOutcome outcome =
      controls_.on_frame(bytes, worker_, has_any_color(), unpack);
  misses_peer_ =
      misses_peer_ || outcome == transport::FrameOutcome::kUnanswered;
  return outcome != transport::FrameOutcome::kDamaged;
}

/// An endpoint without a connection becomes no holder.
void Endpoint::announce(const transport::LocalBytes& bytes) {
  if (state_ == EndpointState::kReady) {
    controls_.announce(bytes, worker_, has_any_color());
  }
}

/// Nothing when the peer is lost, or UCX refuses the bytes.
std::optional<Rkey> Endpoint::unpack_rkey(std::span<const std::byte> bytes) {
  if (state_ != EndpointState::kReady) {
    return std::nullopt;
  }
  ucp_rkey_h rkey = nullptr;
  const ucs_status_t status = ucp_ep_rkey_unpack(ucp_, bytes.data(), &rkey);
  if (status != UCS_OK) {
    log(LogLevel::kDebug, "ucx: an rkey of {} is of no use: {}",
        shared_.name_of(peer_), ucs_status_string(status));
    return std::nullopt;
  }
  return Rkey(rkey);
}

}  // namespace acp::ucx
