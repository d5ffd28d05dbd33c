// Attempts to connect that fail, and what follows.
#include <algorithm>

#include "base/log.h"
#include "verbs/endpoint.h"

namespace acp::verbs {

namespace {

/// No attempt begins later than this after the first one. It matters where an
/// attempt itself takes long: the kernel waits more than a minute for the
/// answer to a request before it says that a peer is unreachable.
constexpr Duration kConnectTimeLimit = std::chrono::minutes(2);

}  // namespace

void Endpoint::connect() {
  if (attempts_ == 0) {
    first_attempt_ = SteadyClock().now();
  }
  start_attempt();
}

/// Precondition: backing off.
void Endpoint::retry() {
  ++shared_.counters.retried;
  start_attempt();
}

/// An attempt has come to nothing, for a reason that may pass: a neighbour or
/// a route that is not known yet, requests that were lost among those of many
/// ranks, or a number that the other side has not forgotten yet.
void Endpoint::on_attempt_failed(std::string_view why) {
  switch (state_) {
    case EndpointState::kResolving:
    case EndpointState::kConnecting: back_off(why); return;
    case EndpointState::kAccepting:
      // The peer's attempt. It asks again, or this side does when it has
      // something to send; of a peer that has died the launcher tells.
      log(LogLevel::kDebug, "verbs: {}: its attempt is over: {}", describe(),
          why);
      drop_attempt();
      set_state(EndpointState::kIdle);
      return;
    default: fail(why); return;
  }
}

/// Gives the attempt up and makes another one later, if there may be one more.
void Endpoint::back_off(std::string_view why) {
  drop_attempt();
  const TimePoint now = SteadyClock().now();
  const Duration spent = now - first_attempt_;
  if (attempts_ >= kConnectAttempts || spent >= kConnectTimeLimit) {
    fail(fmt::format(
        "connecting has failed {} times in {:.1f} s, at last with {}; see that "
        "the interfaces of both addresses are up and reach each other (ping, "
        "rping), or choose other devices with ACP_VERBS_DEVICES",
        attempts_, std::chrono::duration<double>(spent).count(), why));
    return;
  }
  retry_at_ = now + retry_delay(attempts_, shared_.random);
  log(LogLevel::kDebug, "verbs: {}: attempt {} to connect: {}; again in {} ms",
      describe(), attempts_, why,
      std::chrono::duration_cast<std::chrono::milliseconds>(retry_at_ - now)
          .count());
  set_state(EndpointState::kBackingOff);
  // It may be there still, when it has left that state and come back.
  if (std::ranges::find(shared_.backing_off, this) ==
      shared_.backing_off.end()) {
    shared_.backing_off.push_back(this);
  }
}

}  // namespace acp::verbs
