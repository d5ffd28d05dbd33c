// Polling and flushing: moves UCX's workers forward, and brings arrivals and
// completions to the endpoints and to the engine. Called by the engine; never
// blocks.
#include "transport/ucx/ucx_transport.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace acp::ucx {

namespace {

/// Passes of a worker in one poll(). Each handles what one of the worker's
/// interfaces has; an idle worker ends the loop at once.
constexpr int kPasses = 16;
/// Passes of a worker in arm(), all of which have to find nothing.
constexpr int kIdlePasses = 2;

}  // namespace

UcxTransport::~UcxTransport() {
  const Counters& c = shared_.counters;
  log(LogLevel::kDebug,
      "ucx: {} endpoints ({} notice no failures), sent {} packets, received {} "
      "({} before their turn) with {} messages; posted {} chains as {} UCX "
      "operations with {} flushes, asked for {} registrations, told of {}, "
      "revoked {} regions",
      c.connected, c.unwatched, c.sent, c.received, c.early, c.delivered,
      c.posted, c.operations, c.flushes, c.control.wanted, c.control.told,
      c.control.revoked);
  shared_.is_ending = true;
  for (const auto& [key, endpoint] : endpoints_) {
    endpoint->release();
  }
  regions_.forget();
  // UCX cancels operations here, and calls back with endpoints and records of
  // the pools, which end after this function.
  workers_.clear();
}

/// Packets that were kept come first, since they are older. Failures are
/// reported last, when all that arrived before them has been handed over.
std::size_t UcxTransport::poll(transport::MessageSink& sink) {
  const std::uint64_t before = shared_.counters.delivered;
  shared_.sink = &sink;
  if (!arrivals_.empty()) {
    take_arrivals();
  }
  // Passes serve peers as well, whose puts, gets and atomics UCX emulates.
  has_served_ = make_passes();
  // The reports below call the sink, which may send to this process itself.
  shared_.sink = nullptr;
  const std::size_t done = report_done(sink);
  if (!shared_.gone.empty()) {
    check_gone();
  }
  if (!shared_.failed.empty()) {
    report_failures(sink);
  }
  unfit_peer_.report(sink);
  return static_cast<std::size_t>(shared_.counters.delivered - before) + done;
}

/// True when UCX had something to do.
bool UcxTransport::make_passes() {
  const FaultNote::Scope scope(fault_note_, FaultNote::Code::kUcx);
  bool has_worked = false;
  for (const auto& worker : workers_) {
    for (int i = 0; i < kPasses && ucp_worker_progress(worker->handle()) != 0;
         ++i) {
      has_worked = true;
    }
  }
  return has_worked;
}

ucs_status_t UcxTransport::on_packet_callback(
    void* receiver,
    const void* /*header*/,
    std::size_t /*header_bytes*/,
    void* data,
    std::size_t bytes,
    const ucp_am_recv_param_t* param) {
  if ((param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0) {
    return UCS_ERR_UNSUPPORTED;  // no peer of ours sends it
  }
  const auto& to = *static_cast<const Receiver*>(receiver);
  const FaultNote::Scope scope(to.transport->fault_note_,
                               FaultNote::Code::kProject);
  to.transport->on_packet(to.color,
                          {static_cast<const std::byte*>(data), bytes});
  return UCS_OK;
}

/// UCX may call back within a send to this process itself. The messages of such
/// a packet wait for the next poll(), because the sink may be busy.
void UcxTransport::on_packet(transport::Color color,
                             std::span<const std::byte> packet) {
  if (shared_.sink == nullptr || is_delivering_) {
    arrivals_.push_back({color, {packet.begin(), packet.end()}});
    return;
  }
  const auto header = decode_packet(packet);
  if (!header || header->job != options_.job ||
      header->from >= options_.procs) {
    log_warning("ucx: dropped {} bytes that no rank of this job has sent",
                packet.size());
    return;
  }
  const Result<Endpoint*> from = endpoint_to(header->from, color);
  if (!from.ok()) {
    return;  // logged; poll() reports the peer, which ends the job
  }
  is_delivering_ = true;
  (*from)->on_packet(*header, packet);
  is_delivering_ = false;
}

void UcxTransport::take_arrivals() {
  const std::vector<Arrival> arrivals = std::exchange(arrivals_, {});
  for (const Arrival& arrival : arrivals) {
    on_packet(arrival.color, arrival.packet);
  }
}

/// The sink may post again, which adds tokens: these are for the next poll().
std::size_t UcxTransport::report_done(transport::MessageSink& sink) {
  if (shared_.done.empty()) {
    return 0;
  }
  std::swap(reporting_, shared_.done);
  for (const std::uint64_t token : reporting_) {
    sink.on_posted_done(token);
  }
  const std::size_t count = reporting_.size();
  reporting_.clear();
  return count;
}

void UcxTransport::check_gone() {
  const TimePoint now = SteadyClock().now();
  for (Endpoint* endpoint : shared_.gone) {
    endpoint->check_gone(now);
  }
  std::erase_if(shared_.gone, [](const Endpoint* endpoint) {
    return endpoint->state() != EndpointState::kGone;
  });
}

/// Gives a peer up in all colors. False: UCX may still touch memory of this
/// process for the peer.
bool UcxTransport::abandon(transport::ProcId peer) {
  bool is_quiet = true;
  for (const auto& [key, endpoint] : endpoints_) {
    if (endpoint->peer() == peer) {
      is_quiet = endpoint->abandon() && is_quiet;
    }
  }
  return is_quiet;
}

/// Reports each failed peer once, as soon as all its colors are quiet: after
/// the report no step may touch memory.
void UcxTransport::report_failures(transport::MessageSink& sink) {
  for (Endpoint* endpoint : std::exchange(shared_.failed, {})) {
    const transport::ProcId peer = endpoint->peer();
    if (has_failed_[peer]) {
      continue;
    }
    if (!abandon(peer)) {
      shared_.failed.push_back(endpoint);
      continue;
    }
    has_failed_[peer] = true;
    sink.on_peer_failed(peer, endpoint->failure());
  }
}

void UcxTransport::flush() {
  flush_endpoints(&Endpoint::flush);
}

void UcxTransport::flush_idle() {
  flush_endpoints(&Endpoint::flush_idle);
}

/// Endpoints that have no room are appended again, and so stay in the list.
void UcxTransport::flush_endpoints(bool (Endpoint::*flush_one)()) {
  const std::size_t count = shared_.to_flush.size();
  for (std::size_t i = 0; i < count; ++i) {
    Endpoint* endpoint = shared_.to_flush[i];
    if (!(endpoint->*flush_one)()) {
      endpoint->queue_for_flush();
    }
  }
  const auto begin = shared_.to_flush.begin();
  shared_.to_flush.erase(begin, begin + static_cast<std::ptrdiff_t>(count));
}

void UcxTransport::on_registered(const transport::Region& region) {
  regions_.add(region);
}

bool UcxTransport::on_unregistered(std::uint32_t key, std::uint64_t state) {
  return regions_.remove(key, state);
}

void UcxTransport::forget_regions() {
  for (const auto& [key, endpoint] : endpoints_) {
    endpoint->forget_regions();
  }
  regions_.forget();
}

/// Whether poll() or flush() has something to do already.
bool UcxTransport::has_work() const noexcept {
  return !shared_.to_flush.empty() || !arrivals_.empty() ||
         !shared_.done.empty() || !shared_.failed.empty() ||
         unfit_peer_.is_unreported();
}

std::string UcxTransport::describe_color(transport::Color color) const {
  return fmt::format("devices {}", workers_[color]->devices());
}

/// Unsent messages make it "long ago": the engine may leave a pass without
/// flush(), and its caller may make no further one.
TimePoint UcxTransport::next_deadline() const noexcept {
  if (has_work()) {
    return TimePoint{};
  }
  TimePoint next = TimePoint::max();
  for (const Endpoint* endpoint : shared_.gone) {
    next = std::min(next, endpoint->gone_deadline());
  }
  return next;
}

/// ucp_worker_arm refuses while the worker has events that poll() has not
/// handled, and an event after it makes the descriptor readable. Work that UCX
/// has put off is no event: a send or a flush after the last poll() may have
/// left some. So two passes of each worker have to find nothing. If one finds
/// something, the caller polls again. Messages that have arrived wait here for
/// poll().
bool UcxTransport::arm() {
  flush();
  const FaultNote::Scope scope(fault_note_, FaultNote::Code::kUcx);
  bool is_quiet = true;
  for (const auto& worker : workers_) {
    for (int i = 0; i < kIdlePasses && is_quiet; ++i) {
      is_quiet = ucp_worker_progress(worker->handle()) == 0;
    }
  }
  return is_quiet && !has_work() &&
         std::ranges::all_of(workers_, [](const auto& worker) {
           return ucp_worker_arm(worker->handle()) == UCS_OK;
         });
}

}  // namespace acp::ucx
