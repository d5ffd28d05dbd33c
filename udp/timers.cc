// The part of UdpTransport that time drives: time-outs of the endpoints, peers
// that have failed, and probes of peers that are silent. Called by poll().
#include <algorithm>

#include "base/log.h"
#include "udp/udp_transport.h"

namespace acp::udp {

namespace {

/// How often a process that waits looks for a silent peer. It probes one at
/// most, so with many peers all of this stays four datagrams a second.
constexpr Duration kSilenceCheckInterval = std::chrono::milliseconds(250);
/// Peers that one look passes over because they were heard of lately.
constexpr std::size_t kMaxSuspects = 256;

}  // namespace

/// A process that had no core finds the acks in its sockets. So a peer is late
/// only when all that had arrived by then has been taken, which may need more
/// than one poll; but no more than what the receive buffers hold.
UdpTransport::Due UdpTransport::what_is_due(const Drained& drained) noexcept {
  taken_when_due_ += drained.datagrams;
  if (!drained.is_empty &&
      taken_when_due_ < socket_->receive_buffer_bytes() / charge(0)) {
    return Due::kAcks;
  }
  taken_when_due_ = 0;
  return Due::kAll;
}

void UdpTransport::run_timers(Due due, transport::MessageSink& sink) {
  if (due == Due::kAll && shared_.limits.is_core_bound) {
    // As long as this process waited for a core its peers may wait.
    shared_.limits.longest_rtt.add_stall(shared_.now - shared_.deadline);
  }
  shared_.deadline = TimePoint::max();
  std::size_t kept = 0;
  for (std::size_t i = 0; i < shared_.timed.size(); ++i) {
    Endpoint* endpoint = shared_.timed[i];
    if (due == Due::kAcks) {
      endpoint->on_ack_timer(shared_.now);
    } else if (endpoint->deadline() <= shared_.now) {
      endpoint->on_timer(shared_.now);
      if (endpoint->is_peer_dead(shared_.now)) {
        fail_peer(*endpoint, sink);
      }
    }
    const TimePoint deadline = endpoint->deadline();
    endpoint->is_timed = deadline != TimePoint::max();
    if (endpoint->is_timed) {
      shared_.timed[kept++] = endpoint;
      shared_.deadline = std::min(shared_.deadline, deadline);
    }
  }
  shared_.timed.resize(kept);
}

void UdpTransport::fail_peer(Endpoint& silent, transport::MessageSink& sink) {
  const std::string why = fmt::format(
      "process {} does not answer: {}; it has died, is stopped (see "
      "ACP_UDP_SILENCE), or its packets are filtered",
      silent.peer(), silent.describe_silence(shared_.now));
  for (transport::Color color = 0; color < capabilities_.colors; ++color) {
    Endpoint* endpoint = endpoints_.find(silent.peer(), color);
    if (endpoint == nullptr) {
      // A color not yet used is dead as well.
      const Result<Endpoint*> made = make_endpoint(silent.peer(), color);
      endpoint = made.ok() ? made.value() : nullptr;
    }
    if (endpoint != nullptr) {
      endpoint->fail();
    }
  }
  sink.on_peer_failed(silent.peer(), why);
}

/// A peer that owes nothing may be waited for: it is stopped or cut off, and
/// nothing of ours asks it for an ack. So a process that waits asks. There is
/// no deadline for that: who waits polls often enough. The first suspect
/// differs from process to process, so that many that wait for one together
/// find it soon.
void UdpTransport::check_for_silence() {
  next_silence_check_ = shared_.now + kSilenceCheckInterval;
  if (!options_.waited_for || shared_.limits.silence.count() == 0) {
    return;
  }
  using transport::WaitedFor;
  const WaitedFor waited = options_.waited_for();
  if (waited.whom == WaitedFor::Whom::kPeer && waited.peer != options_.me) {
    if (const auto found = endpoint(waited.peer, 0); found.ok()) {
      static_cast<Endpoint*>(found.value())->probe(shared_.now);
    }
  } else if (waited.whom == WaitedFor::Whom::kAnybody) {
    const auto endpoints = endpoints_.all();
    for (std::size_t i = 0; i < std::min(endpoints.size(), kMaxSuspects); ++i) {
      Endpoint* endpoint = endpoints[next_suspect_++ % endpoints.size()];
      if (endpoint->peer() != options_.me && endpoint->probe(shared_.now)) {
        return;
      }
    }
  }
}

}  // namespace acp::udp
