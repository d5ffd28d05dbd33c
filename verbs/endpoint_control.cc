// Control rows of an endpoint: the part of ControlRows that needs the
// connection. Called by the other parts of Endpoint, by ControlRows and by
// VerbsTransport. Nothing here waits, and no row leaves an endpoint that is not
// ready.
#include "verbs/endpoint.h"

namespace acp::verbs {

/// Only a ready connection has packets.
Status Endpoint::append_control(std::span<const std::byte> row) {
  return state_ == EndpointState::kReady ? append({&row, 1}, Row::kControl)
                                         : Status::kAgain;
}

bool Endpoint::may_answer() const noexcept {
  return state_ == EndpointState::kReady;
}

/// Device atomics reach the memory of every color by color 0.
bool Endpoint::has_any_color() const noexcept {
  return shared_.executes_atomics && device_.color() == 0;
}

/// False: the bytes are no valid control row. The launcher notices that a peer
/// is gone, so a row that gets no answer changes nothing.
bool Endpoint::on_control(std::span<const std::byte> bytes) {
  return controls_.on_row(bytes, device_, has_any_color(), unpack_rkey) !=
         transport::RowOutcome::kDamaged;
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
