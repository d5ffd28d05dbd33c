// Control rows, by which the two ends of an endpoint tell each other about
// their memory. Part of Endpoint. docs/ucx.md, "Keys".
#include "base/log.h"
#include "transport/ucx/endpoint.h"

namespace acp::ucx {

/// Queues a control row. Rows are sent in order when there is room.
void Endpoint::send_control(Control control) {
  controls_.push_back(std::move(control));
  queue_for_flush();
}

/// Sends queued control rows. False: there was no room for all. Precondition:
/// ready.
bool Endpoint::send_controls() {
  std::size_t sent = 0;
  for (; sent < controls_.size() && state_ == EndpointState::kReady; ++sent) {
    const auto bytes = encode_control(controls_[sent]);
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
  send_control({.kind = ControlKind::kRevoke,
                .key = region.key,
                .epoch = shared_.regions.epoch(),
                .state = region.state});
}

void Endpoint::forget_regions() noexcept {
  peer_memory_.clear();
  is_asking_ = false;
  is_denied_ = false;
  controls_.clear();
}

/// Asks the peer for the window that a step needs. One question at a time.
void Endpoint::ask_for_window(const transport::RemoteStep& step) {
  if (is_asking_) {
    return;
  }
  is_asking_ = true;
  is_denied_ = false;
  asked_ = step;
  ++shared_.counters.wanted;
  send_control({.kind = ControlKind::kWant,
                .key = step.key,
                .epoch = shared_.regions.epoch(),
                .offset = step.offset});
}

/// False: the bytes are no valid control row.
bool Endpoint::on_control(std::span<const std::byte> bytes) {
  const auto control = decode_control(bytes);
  if (!control) {
    return false;
  }
  if (control->epoch != shared_.regions.epoch()) {
    return true;  // from before a reset: its region is gone
  }
  switch (control->kind) {
    case ControlKind::kWant: on_want(*control); break;
    case ControlKind::kRegion: on_region(*control); break;
    case ControlKind::kRevoke: on_revoke(*control); break;
    case ControlKind::kRevoked:
      shared_.regions.drop_holder(control->key, control->state, *this);
      break;
  }
  return true;
}

/// Maps the memory if needed and answers with its window, or with size 0 if the
/// peer may not reach it. The peer is noted as a holder of the region. A peer
/// that is gone gets no answer, as on_revoke() says, and becomes no holder.
void Endpoint::on_want(const Control& want) {
  if (state_ == EndpointState::kGone) {
    misses_peer_ = true;
    return;
  }
  Control told{.kind = ControlKind::kRegion,
               .key = want.key,
               .epoch = want.epoch,
               .offset = want.offset};
  MyRegion* mine = shared_.regions.live(want.key);
  const bool is_for_atomics = shared_.executes_atomics && worker_.color() == 0;
  if (mine != nullptr && want.offset >= mine->skew() &&
      want.offset - mine->skew() < mine->region().size &&
      (mine->region().color == worker_.color() || is_for_atomics)) {
    const Window window = shared_.regions.window(worker_, *mine, want.offset);
    told.state = mine->region().state;
    told.offset = window.offset;
    if (window.rkey != nullptr) {
      told.rkey = *window.rkey;
      told.size = window.size;
      told.address = reinterpret_cast<std::uintptr_t>(window.address);
      shared_.regions.add_holder(*mine, *this);
      ++shared_.counters.told;
    }
  }
  send_control(std::move(told));
}

/// An answer of size 0 means no. An answer for another registration of the key
/// means no as well: the region that the step names is gone. An rkey that UCX
/// cannot unpack is of no use for a later step either.
void Endpoint::on_region(const Control& told) {
  is_denied_ = is_asking_ && (told.size == 0 || ((told.state ^ asked_.state) &
                                                 asked_.state_mask) != 0);
  is_asking_ = false;
  if (told.size == 0 || state_ != EndpointState::kReady) {
    return;
  }
  ucp_rkey_h rkey = nullptr;
  const ucs_status_t status = ucp_ep_rkey_unpack(ucp_, told.rkey.data(), &rkey);
  if (status != UCS_OK) {
    log(LogLevel::kDebug, "ucx: an rkey of process {} is of no use: {}", peer_,
        ucs_status_string(status));
    is_denied_ = true;
    return;
  }
  peer_memory_.add({.key = told.key,
                    .state = told.state,
                    .offset = told.offset,
                    .size = told.size,
                    .address = told.address,
                    .rkey = Rkey(rkey)});
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
    send_control({.kind = ControlKind::kRevoked,
                  .key = key,
                  .epoch = shared_.regions.epoch(),
                  .state = state});
  }
}

}  // namespace acp::ucx
