// Attempts to connect that fail: which are repeated, when, and when the peer is
// given up. Called by endpoint_connect.cc and by VerbsTransport. It may not
// sleep until the next attempt, whose time VerbsTransport::next_deadline()
// tells.
#include <algorithm>

#include "base/log.h"
#include "verbs/endpoint.h"

namespace acp::verbs {

namespace {

/// No attempt begins later than this after the first one. Attempts can be slow:
/// the kernel waits for more than a minute before it reports "unreachable".
constexpr Duration kConnectTimeLimit = std::chrono::minutes(2);

}  // namespace

void Endpoint::connect() {
  if (attempts_ == 0) {
    first_attempt_ = SteadyClock().now();
  }
  start_attempt();
}

void Endpoint::retry() {
  ++shared_.counters.retried;
  start_attempt();
}

/// An attempt has failed for a reason that may pass. A neighbour or route may
/// not be known yet, or requests were lost among those of many ranks. Or the
/// peer still remembers a queue pair number.
void Endpoint::on_attempt_failed(std::string_view why) {
  switch (state_) {
    case EndpointState::kResolving:
    case EndpointState::kConnecting: back_off(why); return;
    case EndpointState::kAccepting:
      // This was the peer's attempt. The peer asks again, or this side connects
      // when it has a message to send. If the peer has died, the launcher
      // tells.
      log(LogLevel::kDebug, "verbs: {}: its attempt is over: {}", describe(),
          why);
      drop_attempt();
      set_state(EndpointState::kIdle);
      return;
    default: fail(why); return;
  }
}

/// Ends the attempt and schedules a new one, or fails after the last.
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
  retry_at_ = now + retry_delay(attempts_, shared_.jitter);
  log(LogLevel::kDebug, "verbs: {}: attempt {} to connect: {}; again in {} ms",
      describe(), attempts_, why,
      std::chrono::duration_cast<std::chrono::milliseconds>(retry_at_ - now)
          .count());
  set_state(EndpointState::kBackingOff);
  // The endpoint may still be listed if it left this state and came back.
  if (std::ranges::find(shared_.backing_off, this) ==
      shared_.backing_off.end()) {
    shared_.backing_off.push_back(this);
  }
}

}  // namespace acp::verbs
