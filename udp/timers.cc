// The part of UdpTransport that time drives: time-outs of endpoints, failed
// peers, and probes of silent peers. Called by poll(); sends nothing itself.
#include <algorithm>

#include "base/log.h"
#include "udp/udp_transport.h"

namespace acp::udp {

namespace {

/// A process that waits checks this often for a silent peer. Each check probes
/// one peer at most, so probes stay at four datagrams a second.
constexpr Duration kSilenceCheckInterval = std::chrono::milliseconds(250);
/// Peers that one check examines at most.
constexpr std::size_t kMaxSuspects = 256;

}  // namespace

/// A process that had no core finds acks waiting in its sockets. So time-outs
/// run only once everything that had arrived has been taken, which may need
/// several polls. The bound is the number of datagrams that a receive buffer
/// can hold.
UdpTransport::Due UdpTransport::what_is_due(const Drained& drained) noexcept {
  taken_when_due_ += drained.datagrams;
  if (!drained.is_empty &&
      taken_when_due_ < socket_->receive_buffer_bytes() / charge(0)) {
    return Due::kAcks;
  }
  taken_when_due_ = 0;
  return Due::kAll;
}

/// Runs the timers that are due and computes the earliest remaining deadline.
void UdpTransport::run_timers(Due due, transport::MessageSink& sink) {
  if (due == Due::kAll) {
    // This process waited for a core that long, and so may its peers. A
    // deadline before the last poll is no time: it only asked for a poll.
    if (shared_.limits.is_core_bound && shared_.deadline > nothing_due_) {
      shared_.limits.longest_rtt.add_stall(shared_.now - shared_.deadline);
    }
    nothing_due_ = shared_.now;
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
    const bool is_timed = deadline != TimePoint::max();
    endpoint->set_timed(is_timed);
    if (is_timed) {
      shared_.timed[kept++] = endpoint;
      shared_.deadline = std::min(shared_.deadline, deadline);
    }
  }
  shared_.timed.resize(kept);
}

/// Gives the peer up in all colors and reports it once.
void UdpTransport::fail_peer(Endpoint& silent, transport::MessageSink& sink) {
  const std::string why = fmt::format(
      "it does not answer: {}; it has died, is stopped (see ACP_UDP_SILENCE), "
      "or a firewall drops UDP between the two hosts (allow the ports of "
      "net.ipv4.ip_local_port_range)",
      silent.describe_silence(shared_.now));
  for (transport::Color color = 0; color < capabilities_.colors; ++color) {
    Endpoint* endpoint = endpoints_.find(silent.peer(), color);
    if (endpoint == nullptr) {
      // An endpoint that is made later must know that the peer is dead. This
      // one never sends, so it needs no address card for a path of its own.
      endpoint =
          endpoints_.insert(std::make_unique<Endpoint>(shared_, silent.peer(),
                                                       color, silent.path()),
                            silent.peer(), color);
    }
    endpoint->fail();
  }
  tell_statistics();
  sink.on_peer_failed(silent.peer(), why);
}

/// A process may wait for a peer that owes no ack. If that peer is stopped or
/// unreachable, no time-out notices it, so a waiting process sends probes. This
/// sets no deadline, since a process that waits polls often enough. Processes
/// begin with different peers, so that many together find a silent one soon.
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
