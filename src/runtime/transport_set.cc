// Joins the transports of this process. The engine and Progress call it under
// the engine's mutex; the transports call it back from poll(). It may not
// block.
#include "runtime/transport_set.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "protocol/rank_names.h"

namespace acp::runtime {

TransportSet::TransportSet(const protocol::HostSegment& segment)
    : segment_(segment) {}

void TransportSet::set_host_transport(
    std::unique_ptr<transport::Transport> transport) {
  host_ = std::move(transport);
  list_all();
}

void TransportSet::set_net_transport(
    std::unique_ptr<transport::Transport> transport) {
  net_ = std::move(transport);
  list_all();
}

void TransportSet::set_rdma_transport(
    std::unique_ptr<transport::Transport> transport,
    std::shared_ptr<const RdmaPeers> peers) {
  rdma_ = std::move(transport);
  rdma_peers_ = std::move(peers);
  list_all();
}

void TransportSet::list_all() {
  all_.clear();
  for (transport::Transport* each : {host_.get(), rdma_.get(), net_.get()}) {
    if (each != nullptr) {
      all_.push_back(each);
    }
  }
}

void TransportSet::attach(gma::Engine& engine,
                          agent::Agent& agent,
                          std::function<void(TimePoint)> on_deadline,
                          std::function<void(std::string_view)> end_job) {
  engine_ = &engine;
  agent_ = &agent;
  on_deadline_ = std::move(on_deadline);
  end_job_ = std::move(end_job);
}

transport::Transport* TransportSet::transport_to(transport::ProcId proc) const {
  if (host_ != nullptr && segment_.slot_of_proc(proc) != protocol::kNoSlot) {
    return host_.get();
  }
  return rdma_ != nullptr && rdma_peers_->has(proc) ? rdma_.get() : net_.get();
}

Result<gma::PeerEndpoint> TransportSet::endpoint_of(gmm::Rank rank,
                                                    gmm::Color color) {
  gma::PeerEndpoint found;
  found.proc = segment_.proc_of_rank()[rank].load(std::memory_order_relaxed);
  transport::Transport* by = transport_to(found.proc);
  if (by == nullptr) {
    return Status::kUnsupported;
  }
  const Result<transport::Endpoint*> endpoint = by->endpoint(found.proc, color);
  if (!endpoint.ok()) {
    return endpoint.status();
  }
  found.endpoint = endpoint.value();
  found.max_message = by->capabilities().max_message;
  found.max_posted = by->capabilities().max_posted;
  found.orders_posts = by->capabilities().orders_posts;
  return found;
}

Result<transport::Endpoint*> TransportSet::endpoint(transport::ProcId proc,
                                                    transport::Color color) {
  transport::Transport* by = transport_to(proc);
  if (by == nullptr) {
    return Status::kUnsupported;
  }
  return by->endpoint(proc, color);
}

gma::Arrivals TransportSet::poll() {
  std::size_t received = 0;
  bool has_served = false;
  for (transport::Transport* each : all_) {
    received += each->poll(*this);
    has_served = has_served || each->has_served();
  }
  const bool has_sent = agent_->flush();
  return agent_->take_signal()       ? gma::Arrivals::kSignal
         : has_sent || received != 0 ? gma::Arrivals::kSome
         : has_served                ? gma::Arrivals::kServed
                                     : gma::Arrivals::kNone;
}

void TransportSet::flush() {
  for (transport::Transport* each : all_) {
    each->flush();
  }
}

void TransportSet::flush_idle() {
  for (transport::Transport* each : all_) {
    each->flush_idle();
  }
}

/// While no thread sleeps in epoll, none has to be woken: then the cost of
/// asking each transport is spared.
void TransportSet::wake_for_deadline() {
  if (is_armed_ && (net_ != nullptr || engine_->has_unsent())) {
    on_deadline_(next_deadline());
  }
}

void TransportSet::start_copy(transport::ProcId proc,
                              transport::Color color,
                              std::uint64_t id,
                              const protocol::Step& copy) {
  engine_->start_delegated({proc, color, id}, copy);
}

void TransportSet::on_message(transport::ProcId from,
                              transport::Color color,
                              std::span<const std::byte> bytes) {
  const auto type = protocol::message_type(bytes);
  if (type == protocol::MessageType::kRequest) {
    agent_->on_request(from, color, bytes);
  } else if (type == protocol::MessageType::kReply) {
    engine_->runner().on_reply(bytes);
  } else if (type == protocol::MessageType::kSharedReply) {
    engine_->runner().on_shared_reply(bytes);
  } else {
    log_warning("dropped a message of {} bytes from {}: unknown type",
                bytes.size(), protocol::name_of_proc(segment_, from));
  }
}

void TransportSet::on_posted_done(std::uint64_t token) {
  engine_->runner().on_posted_done(token);
}

void TransportSet::on_registered(const transport::Region& region) {
  for (transport::Transport* each : all_) {
    each->on_registered(region);
  }
}

bool TransportSet::on_unregistered(std::uint32_t key, std::uint64_t state) {
  bool is_released = true;
  for (transport::Transport* each : all_) {
    is_released = each->on_unregistered(key, state) && is_released;
  }
  return is_released;
}

void TransportSet::forget_regions() {
  for (transport::Transport* each : all_) {
    each->forget_regions();
  }
}

void TransportSet::on_peer_failed(transport::ProcId peer,
                                  std::string_view why) {
  const std::string text = fmt::format(
      "{} is lost: {}", protocol::name_of_proc(segment_, peer), why);
  log_error("{}", text);
  agent_->forget_peer(peer);
  dead_proc_.store(peer, std::memory_order_release);
  engine_->fail_peer(peer);
  // Other ranks may still reach the peer, and would go on without this rank.
  end_job_(text);
}

std::vector<int> TransportSet::descriptors() const {
  std::vector<int> descriptors;
  for (const transport::Transport* each : all_) {
    const auto of_transport = each->descriptors();
    descriptors.insert(descriptors.end(), of_transport.begin(),
                       of_transport.end());
  }
  return descriptors;
}

TimePoint TransportSet::next_deadline() const {
  TimePoint next = TimePoint::max();
  for (const transport::Transport* each : all_) {
    next = std::min(next, each->next_deadline());
  }
  if (engine_->has_unsent() || agent_->has_backlog()) {
    // No doorbell tells that a full ring has room again, so the sleep is short.
    next = std::min(
        next, SteadyClock().now() + Duration(std::chrono::microseconds(200)));
  }
  return next;
}

bool TransportSet::arm() {
  is_armed_ = true;
  bool is_quiet = true;
  for (transport::Transport* each : all_) {
    is_quiet = each->arm() && is_quiet;
  }
  return is_quiet;
}

void TransportSet::disarm() {
  is_armed_ = false;
  for (transport::Transport* each : all_) {
    each->disarm();
  }
}

}  // namespace acp::runtime
