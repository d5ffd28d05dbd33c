// Credit of an Endpoint, and the receive buffers that it promises
// (docs/verbs.md, "Flow control"). Called by the other parts of Endpoint and by
// VerbsTransport. It may not grant credit before the receive buffers for it are
// posted.
#include <fmt/core.h>

#include <utility>

#include "verbs/endpoint.h"

namespace acp::verbs {

/// Reads the credit of a packet. False: it breaks a rule, and the peer has
/// failed.
bool Endpoint::take_credit(std::uint32_t credit, Load load) {
  const std::uint32_t before = credit_.window();
  if (!credit_.on_arrival(credit, load)) {
    fail(fmt::format("its credit {:#010x} on a packet {} frames cannot be: {}",
                     credit, load == Load::kFrames ? "with" : "without",
                     credit_.describe()));
    return false;
  }
  if (credit_.window() < before) {
    device_.receives().shrink(*id_->qp, before - credit_.window());
  }
  if (credit_.has_spare() && !is_spare_) {
    is_spare_ = true;
    if (shared_.spare.empty()) {
      shared_.next_idle_look = SteadyClock().now() + kIdleAfter;
    }
    shared_.spare.push_back(this);
  }
  return true;
}

/// Receive buffers come before the credit for them. Without more buffers the
/// window stays as it is: the peer then waits for credit more often.
void Endpoint::on_consumed() {
  credit_.on_consumed();
  if (state_ != EndpointState::kReady) {
    return;
  }
  if (credit_.needs_growth()) {
    // A small queue pair has room for the completions of a small window.
    if (pair_size() == PairSize::kSmall && credit_.window() == kSmallWindow) {
      want_growth();
    } else if (device_.receives().grow(*id_->qp, credit_.window())) {
      credit_.grow();
    }
  }
  if (credit_.is_due()) {
    queue_for_flush();
  }
}

/// Returns credit by an empty packet if it is due. False: the send queue has no
/// room.
bool Endpoint::return_credit() {
  if (state_ != EndpointState::kReady || !credit_.is_due() ||
      !may_send_packets()) {
    return true;  // the first packet after a move returns it
  }
  if (send_queue_used() == send_queue_entries()) {
    return false;
  }
  post(nullptr, 0, InFront::kNothing, credit_.on_send(Load::kNone));
  return true;
}

/// The empty packet takes no entry of the send queue that is reserved for
/// returning credit. It takes a receive buffer of the credit that is given up.
bool Endpoint::give_up_if_idle() {
  const bool is_idle = !std::exchange(has_sent_, false);
  if (state_ == EndpointState::kReady && credit_.has_spare()) {
    if (!is_idle || open_ != nullptr || is_held() || !may_send_packets() ||
        !has_send_room(1)) {
      return false;
    }
    ++shared_.counters.given_up;
    post(nullptr, 0, InFront::kNothing, credit_.give_up());
  }
  is_spare_ = false;
  return true;
}

}  // namespace acp::verbs
