// Control rows, by which the two ends of a connection tell each other about
// their memory (docs/verbs.md, "Keys"). Called by the other parts of Endpoint,
// by Regions and by VerbsTransport. A row of another epoch may change nothing.
#include "verbs/endpoint.h"

namespace acp::verbs {

using transport::Control;
using transport::ControlKind;

/// Queues a control row. Rows are sent in order when there is credit.
void Endpoint::send_control(Control control) {
  control.epoch = shared_.regions.epoch();
  controls_.push_back(std::move(control));
  queue_for_flush();
}

/// Sends queued control rows. False: there was no room for all. Precondition:
/// ready.
bool Endpoint::send_controls() {
  std::size_t sent = 0;
  for (; sent < controls_.size() && state_ == EndpointState::kReady; ++sent) {
    const auto bytes = transport::encode_control(controls_[sent]);
    const std::span<const std::byte> part = bytes;
    if (append({&part, 1}, Row::kControl) != Status::kOk) {
      break;
    }
  }
  controls_.erase(controls_.begin(),
                  controls_.begin() + static_cast<std::ptrdiff_t>(sent));
  return controls_.empty();
}

void Endpoint::revoke(const transport::Region& region) {
  ++shared_.counters.revoked;
  send_control(
      {.kind = ControlKind::kRevoke, .key = region.key, .state = region.state});
}

void Endpoint::forget_regions() noexcept {
  peer_memory_.clear();
  controls_.clear();
}

/// False: the bytes are no valid control row.
bool Endpoint::on_control(std::span<const std::byte> bytes) {
  const auto control = transport::decode_control(bytes);
  if (!control) {
    return false;
  }
  if (control->epoch != shared_.regions.epoch()) {
    return true;  // from before a reset: its region is gone
  }
  switch (control->kind) {
    case ControlKind::kWant: on_want(*control); break;
    case ControlKind::kRegion:
      peer_memory_.on_region(*control, unpack_rkey);
      break;
    case ControlKind::kAnnounce:
      (void)peer_memory_.on_announce(*control, unpack_rkey);
      break;
    case ControlKind::kRevoke:
      drop_revoked(control->key, control->state);
      break;
    case ControlKind::kRevoked:
      shared_.regions.drop_holder(control->key, control->state, *this);
      break;
  }
  return true;
}

/// A connection that is not ready becomes no holder: it could not be dropped as
/// one any more.
void Endpoint::on_want(const Control& want) {
  if (state_ != EndpointState::kReady) {
    return;
  }
  Control told = shared_.regions.answer(
      want, device_, shared_.executes_atomics && device_.color() == 0, *this);
  shared_.counters.told += told.size != 0 ? 1 : 0;
  send_control(std::move(told));
}

/// Like on_want(): a connection that is not ready becomes no holder.
void Endpoint::announce(const transport::LocalBytes& bytes) {
  if (state_ != EndpointState::kReady) {
    return;
  }
  for (Control& told : shared_.regions.announce(
           bytes, device_, shared_.executes_atomics && device_.color() == 0,
           *this)) {
    ++shared_.counters.told;
    send_control(std::move(told));
  }
  (void)send_controls();  // in front of a message that is sent next
}

/// Confirms once no window of the region is in use.
void Endpoint::drop_revoked(std::uint32_t key, std::uint64_t state) {
  if (peer_memory_.revoke(key, state)) {
    send_control({.kind = ControlKind::kRevoked, .key = key, .state = state});
  }
}

}  // namespace acp::verbs
