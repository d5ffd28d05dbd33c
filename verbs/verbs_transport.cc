// Polling and flushing: brings completions of the devices to the endpoints, and
// unsent data of the endpoints to the devices. Called by the engine; never
// blocks.
#include "verbs/verbs_transport.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/assert.h"
#include "base/log.h"

namespace acp::verbs {

namespace {

/// Looking for events costs a system call, looking for completions does not. So
/// poll() looks for events only this often.
constexpr int kPollsBetweenEventChecks = 32;

Buffer* buffer_of(const ibv_wc& completion) noexcept {
  return reinterpret_cast<Buffer*>(  // NOLINT(performance-no-int-to-ptr)
      completion.wr_id & ~std::uint64_t{1});
}

bool is_receive(const ibv_wc& completion) noexcept {
  return (completion.wr_id & 1) != 0;
}

bool has_messages(const ibv_wc& completion) noexcept {
  return is_receive(completion) && completion.status == IBV_WC_SUCCESS &&
         completion.byte_len != 0;
}

}  // namespace

/// Logs the counts before the endpoints end: a queue pair that ends gives its
/// receive buffers back, and the lines would show none.
VerbsTransport::~VerbsTransport() {
  const Counters& c = shared_.counters;
  log(LogLevel::kDebug,
      "verbs: {} connections ({} grown, {} attempts crossed, {} made again, {} "
      "strangers refused), sent "
      "{} packets ({} empty of which {} give credit up, {} inline, {} "
      "signalled), put off {} without "
      "credit and {} without buffer, received {} packets with {} messages",
      c.connected, c.grown, c.crossed, c.retried, c.refused, c.sent, c.empty,
      c.given_up, c.inlined, c.signalled, c.no_credit, c.no_buffer, c.received,
      c.delivered);
  log(LogLevel::kDebug,
      "verbs: posted {} chains, {} with a message behind, as {} work requests "
      "and {} proofs with {} doorbells, asked for {} registrations, told of "
      "{}, revoked {} regions",
      c.posted, c.joined, c.requests, c.proofs, c.doorbells, c.control.wanted,
      c.control.told, c.control.revoked);
  for (const auto& device : devices_) {
    const Receives& receives = device->receives();
    log(LogLevel::kDebug,
        "verbs: {}: {} receive buffers are promised, {} posted, {} registered; "
        "{} of {} completions are taken",
        device->name(), receives.promised(), receives.posted(),
        receives.registered(), device->completions().taken(),
        device->completions().entries());
  }
  endpoints_.clear();  // queue pairs end before their buffers
}

/// Events first, since they make the endpoints that completions are for.
/// Failures are reported last, when all that arrived before them has been
/// handed over.
std::size_t VerbsTransport::poll(transport::MessageSink& sink) {
  const std::uint64_t before =
      shared_.counters.delivered + shared_.counters.done;
  if (shared_.connecting != 0 || --polls_until_event_check_ <= 0) {
    check_descriptors(std::span(watched_).first(event_descriptors_));
  }
  if (std::exchange(is_after_check_, false)) {
    give_idle_credit_up();
  }
  if (has_events_) {
    take_events();
  }
  if (!shared_.backing_off.empty()) {
    start_retries();
  }
  for (const auto& device : devices_) {
    drain(*device, sink);
  }
  if (!shared_.failed.empty()) {
    report_failures(sink);
  }
  unfit_peer_.report(sink);
  return static_cast<std::size_t>(shared_.counters.delivered +
                                  shared_.counters.done - before);
}

/// Starts the attempts that are due. Also drops from the list endpoints that
/// have accepted their peer's attempt, or failed, in the meantime.
void VerbsTransport::start_retries() {
  const TimePoint now = SteadyClock().now();
  for (std::size_t i = 0; i < shared_.backing_off.size();) {
    Endpoint* endpoint = shared_.backing_off[i];
    const bool is_waiting = endpoint->state() == EndpointState::kBackingOff;
    if (is_waiting && endpoint->retry_at() > now) {
      ++i;
      continue;
    }
    shared_.backing_off[i] = shared_.backing_off.back();
    shared_.backing_off.pop_back();
    if (is_waiting) {
      endpoint->retry();  // may append it to the list again
    }
  }
}

/// The price of spare credit is the receive buffers of the peer, which other
/// connections there can use. The time is read only with spare credit about.
void VerbsTransport::give_idle_credit_up() {
  if (shared_.spare.empty()) {
    return;
  }
  const TimePoint now = SteadyClock().now();
  if (now < shared_.next_idle_look) {
    return;
  }
  shared_.next_idle_look = now + kIdleAfter;
  std::erase_if(shared_.spare, std::mem_fn(&Endpoint::give_up_if_idle));
}

/// Handles one batch of completions of a device.
void VerbsTransport::drain(Device& device, transport::MessageSink& sink) {
  CompletionQueues& completions = device.completions();
  const int count = completions.poll();
  for (int i = 0; i < count; ++i) {
    const ibv_wc& completion = completions.completion(i);
    if (is_receive(completion)) {
      on_receive(device, completion, sink);
    } else {
      on_send(device, completion, sink);
    }
  }
  const bool is_broken = count < 0 || !device.receives().post_recycled();
  // Credit goes back only after the receive buffers are posted again.
  for (int i = 0; i < count; ++i) {
    const ibv_wc& completion = completions.completion(i);
    Endpoint* endpoint = device.endpoint_of(completion.qp_num);
    if (has_messages(completion) && endpoint != nullptr) {
      endpoint->on_consumed();
    }
  }
  if (is_broken) {
    for (const auto& [key, endpoint] : endpoints_) {
      if (key % kMaxColors == device.color()) {
        endpoint->fail(count < 0 ? "the completion queue is broken"
                                 : "the receive queue is broken");
      }
    }
  }
}

void VerbsTransport::on_receive(Device& device,
                                const ibv_wc& completion,
                                transport::MessageSink& sink) {
  Buffer* buffer = buffer_of(completion);
  Endpoint* endpoint = device.endpoint_of(completion.qp_num);
  if (endpoint != nullptr && completion.status != IBV_WC_SUCCESS) {
    endpoint->on_error("receiving", completion);
  } else if (endpoint != nullptr) {
    endpoint->on_packet(completion.qp_num, ntohl(completion.imm_data),
                        buffer->bytes().first(completion.byte_len), sink);
  }
  device.receives().recycle(buffer, completion);
}

void VerbsTransport::on_send(Device& device,
                             const ibv_wc& completion,
                             transport::MessageSink& sink) {
  Endpoint* endpoint = device.endpoint_of(completion.qp_num);
  if (endpoint == nullptr) {
    return;
  }
  const bool is_step =
      endpoint->on_sent(static_cast<std::uint32_t>(completion.wr_id >> 1),
                        completion.status == IBV_WC_SUCCESS, sink);
  if (completion.status != IBV_WC_SUCCESS) {
    endpoint->on_error(is_step ? "reaching its memory" : "sending", completion);
  }
}

void VerbsTransport::flush() {
  flush_endpoints(&Endpoint::flush);
}

void VerbsTransport::flush_idle() {
  flush_endpoints(&Endpoint::flush_idle);
}

void VerbsTransport::flush_endpoints(bool (Endpoint::*flush_one)()) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < shared_.to_flush.size(); ++i) {
    Endpoint* endpoint = shared_.to_flush[i];
    if (!(endpoint->*flush_one)()) {
      shared_.to_flush[kept++] = endpoint;
    }
  }
  shared_.to_flush.resize(kept);
}

void VerbsTransport::on_registered(const transport::Region& region) {
  regions_.add(region);
}

bool VerbsTransport::on_unregistered(std::uint32_t key, std::uint64_t state) {
  return regions_.remove(key, state);
}

void VerbsTransport::forget_regions() {
  regions_.forget();
  for (const auto& [key, endpoint] : endpoints_) {
    endpoint->forget_regions();
  }
}

std::string VerbsTransport::fabric() const {
  std::string text = executor_name(options_.atomics);
  if (shared_.proves_writes) {
    text += fmt::format(", {} writes", write_order_name(options_.writes));
  }
  for (const auto& device : devices_) {
    text += ", " + device->fabric();
  }
  return text;
}

std::string VerbsTransport::describe_color(transport::Color color) const {
  const Device& device = *devices_[color];
  transport::Address address = device.listen_address();
  address.port = 0;
  return fmt::format(
      "{}, {} at {}{}{}", device.name(), device.interface(),
      transport::format_address(address),
      options_.atomics == Executor::kBoth
          ? ", whose atomics agree with the CPU's"
          : "",
      shared_.proves_writes
          ? fmt::format(", {} writes", write_order_name(options_.writes))
          : "");
}

/// With ACP_VERBS_ATOMICS=auto one device that cannot take part is the reason.
std::string VerbsTransport::why_agents() const {
  if (options_.atomics != Executor::kAgent) {
    return {};
  }
  if (wanted_atomics_ == Executor::kAgent) {
    return "ACP_VERBS_ATOMICS=agent";
  }
  const auto found = std::ranges::find_if_not(
      devices_, [](const auto& device) { return device->agrees_with_cpu(); });
  ACP_ASSERT(found != devices_.end());
  return (*found)->has_atomics()
             ? fmt::format("the atomics of {} agree only with each other",
                           (*found)->name())
             : fmt::format("{} has no atomics of 8 bytes", (*found)->name());
}

TimePoint VerbsTransport::next_deadline() const noexcept {
  if (!shared_.to_flush.empty() || !shared_.failed.empty() ||
      unfit_peer_.is_unreported()) {
    return TimePoint{};  // long ago
  }
  TimePoint next =
      shared_.spare.empty() ? TimePoint::max() : shared_.next_idle_look;
  for (const Endpoint* endpoint : shared_.backing_off) {
    next = std::min(next, endpoint->retry_at());
  }
  return next;
}

bool VerbsTransport::arm() {
  flush();
  bool is_quiet = shared_.to_flush.empty() && shared_.failed.empty() &&
                  !unfit_peer_.is_unreported();
  for (const auto& device : devices_) {
    is_quiet = device->completions().arm() && is_quiet;
  }
  return is_quiet;
}

/// Reads the notifications: if one stayed, it would end every later sleep at
/// once. Only the thread that armed and slept may read them: it relies on
/// finding its own.
void VerbsTransport::disarm() {
  check_descriptors(watched_);
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    if (watched_[event_descriptors_ + i].revents != 0) {
      devices_[i]->completions().take_notifications();
    }
  }
}

/// Looks at descriptors with one system call.
void VerbsTransport::check_descriptors(std::span<pollfd> descriptors) {
  polls_until_event_check_ = kPollsBetweenEventChecks;
  is_after_check_ = true;
  if (::poll(descriptors.data(), descriptors.size(), 0) > 0) {
    for (const pollfd& each : descriptors.first(event_descriptors_)) {
      has_events_ |= each.revents != 0;
    }
  }
}

}  // namespace acp::verbs
