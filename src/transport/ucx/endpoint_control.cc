// Control rows, by which the two ends of an endpoint tell each other about
// their memory (docs/ucx.md, "Keys"). Called by the other parts of Endpoint, by
// Regions and by UcxTransport. A row of another epoch may change nothing.
#include "base/log.h"
#include "transport/ucx/endpoint.h"

namespace acp::ucx {

using transport::Control;
using transport::ControlKind;

/// Queues a control row. Rows are sent in order when there is room.
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
    if (append(RowKind::kControl, {&part, 1}) != Status::kOk) {
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
  const auto unpack = [this](std::span<const std::byte> rkey) {
    return unpack_rkey(rkey);
  };
  switch (control->kind) {
    case ControlKind::kWant: on_want(*control); break;
    case ControlKind::kRegion: peer_memory_.on_region(*control, unpack); break;
    case ControlKind::kAnnounce:
      (void)peer_memory_.on_announce(*control, unpack);
      break;
    case ControlKind::kRevoke: on_revoke(*control); break;
    case ControlKind::kRevoked:
      shared_.regions.drop_holder(control->key, control->state, *this);
      break;
  }
  return true;
}

/// A peer that is gone gets no answer, as on_revoke() says, and becomes no
/// holder.
void Endpoint::on_want(const Control& want) {
  if (state_ == EndpointState::kGone) {
    misses_peer_ = true;
    return;
  }
  Control told = shared_.regions.answer(
      want, worker_, shared_.executes_atomics && worker_.color() == 0, *this);
  shared_.counters.told += told.size != 0 ? 1 : 0;
  send_control(std::move(told));
}

/// An endpoint without a connection becomes no holder.
void Endpoint::announce(const transport::LocalBytes& bytes) {
  if (state_ != EndpointState::kReady) {
    return;
  }
  for (Control& told : shared_.regions.announce(
           bytes, worker_, shared_.executes_atomics && worker_.color() == 0,
           *this)) {
    ++shared_.counters.told;
    send_control(std::move(told));
  }
  (void)send_controls();  // in front of a message that is sent next
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

/// A peer that is gone, and asks for something, has been lost at this end only.
/// It may wait for the answer for ever, so it is missed, and fails.
void Endpoint::on_revoke(const Control& revoke) {
  misses_peer_ = misses_peer_ || state_ == EndpointState::kGone;
  drop_revoked(revoke.key, revoke.state);
}

/// Confirms once no window of the region is in use.
void Endpoint::drop_revoked(std::uint32_t key, std::uint64_t state) {
  if (peer_memory_.revoke(key, state) && state_ == EndpointState::kReady) {
    send_control({.kind = ControlKind::kRevoked, .key = key, .state = state});
  }
}

}  // namespace acp::ucx
