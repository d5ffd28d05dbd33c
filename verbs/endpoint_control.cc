// Control frames of an endpoint: the part of ControlFrames that needs the
// connection. Called by the other parts of Endpoint, by ControlFrames and by
// VerbsTransport. Nothing here waits, and no frame leaves an endpoint that is
// not ready.
#include "verbs/endpoint.h"

namespace acp::verbs {

/// Only a ready connection has packets.
Status Endpoint::append_control(std::span<const std::byte> frame) {
  return state_ == EndpointState::kReady
             ? append({&frame, 1}, FrameKind::kControl)
             : Status::kAgain;
}

bool Endpoint::may_answer() const noexcept {
  return state_ == EndpointState::kReady;
}

/// Device atomics reach the memory of every color by color 0.
bool Endpoint::has_any_color() const noexcept {
  return shared_.executes_atomics && device_.color() == 0;
}

/// False: the bytes are no valid control frame. The launcher notices that a
/// peer is gone, so a frame that gets no answer changes nothing.
bool Endpoint::on_control(std::span<const std::byte> bytes) {
  return controls_.on_frame(bytes, device_, has_any_color(), unpack_rkey) !=
         transport::FrameOutcome::kDamaged;
}

/// A connection that is not ready becomes no holder: it could not be dropped as
/// one any more.
void Endpoint::announce(const transport::LocalBytes& bytes) {
  if (state_ == EndpointState::kReady) {
    controls_.announce(bytes, device_, has_any_color());
  }
}

void Endpoint::forget_regions() noexcept {
  controls_.clear();
}

}  // namespace acp::verbs
