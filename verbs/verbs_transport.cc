#include "verbs/verbs_transport.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/log.h"
#include "verbs/find_ports.h"

namespace acp::verbs {

namespace {

/// Events cost a system call to look for, completions do not.
constexpr int kPollsBetweenEventChecks = 32;

std::uint64_t endpoint_key(transport::ProcId peer, transport::Color color) {
  return std::uint64_t{peer} * kMaxColors + color;
}

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

/// The other end of the endpoint to myself is a endpoint of a process beyond
/// the last.
std::uint64_t from_myself_key(std::uint32_t procs, transport::Color color) {
  return endpoint_key(procs, color);
}

/// So that ranks which fail together do not try again together.
std::uint32_t seed_of(const VerbsOptions& options) {
  std::uint32_t seed = options.me + 1;
  for (const std::uint8_t byte : options.job) {
    seed = seed * 31 + byte;
  }
  return seed;
}

Status prepare_atomics(Device& device) {
  if (!device.has_atomics()) {
    log_error(
        "ACP_VERBS_ATOMICS=device: {} has no atomics of 8 bytes; choose other "
        "devices with ACP_VERBS_DEVICES, or set ACP_VERBS_ATOMICS=agent",
        device.name());
    return Status::kUnsupported;
  }
  return device.make_words();
}

}  // namespace

Result<std::unique_ptr<VerbsTransport>> VerbsTransport::open(
    VerbsOptions options) {
  auto channel = open_event_channel();
  if (!channel.ok()) {
    return channel.status();
  }
  auto ports = find_ports(**channel, options.devices);
  if (!ports.ok()) {
    return ports.status();
  }
  if (ports->size() > kMaxColors) {
    log_error("ACP_VERBS_DEVICES: {} devices: at most {}", ports->size(),
              kMaxColors);
    return Status::kBadOption;
  }
  std::vector<std::unique_ptr<Device>> devices;
  for (Port& port : *ports) {
    // Each other process, and the two ends of a connection to myself.
    auto device = Device::open(std::move(port),
                               static_cast<transport::Color>(devices.size()),
                               {.connections = options.procs + 1,
                                .max_receives = options.max_receives});
    if (!device.ok()) {
      return device.status();
    }
    devices.push_back(std::move(*device));
  }
  if (options.atomics == Executor::kDevice) {
    for (const auto& device : devices) {
      if (const Status status = prepare_atomics(*device);
          status != Status::kOk) {
        return status;
      }
    }
  }
  return std::unique_ptr<VerbsTransport>(new VerbsTransport(
      std::move(options), std::move(*channel), std::move(devices)));
}

VerbsTransport::VerbsTransport(VerbsOptions options,
                               EventChannel channel,
                               std::vector<std::unique_ptr<Device>> devices)
    : options_(std::move(options)),
      channel_(std::move(channel)),
      devices_(std::move(devices)),
      regions_(static_cast<transport::Color>(devices_.size())),
      shared_{.me = options_.me,
              .job = options_.job,
              .channel = *channel_,
              .regions = regions_,
              .executes_atomics = options_.atomics == Executor::kDevice,
              .timers = options_.timers,
              .random = std::minstd_rand(seed_of(options_))},
      has_failed_(options_.procs) {
  capabilities_.max_message = kMaxMessageBytes;
  capabilities_.max_posted = kMaxStepBytes;
  capabilities_.colors = static_cast<transport::Color>(devices_.size());
  AddressCard card;
  card.colors = capabilities_.colors;
  card.packet_bytes = kPacketBytes;
  card.atomics = options_.atomics;
  capabilities_.executes_atomics = shared_.executes_atomics;
  descriptors_.push_back(channel_->fd);
  for (const auto& device : devices_) {
    card.listen_addresses[device->color()] = device->listen_address();
    const int events = device->event_descriptor();
    // Ports of one device share these.
    if (std::find(descriptors_.begin(), descriptors_.end(), events) ==
        descriptors_.end()) {
      descriptors_.push_back(events);
    }
  }
  event_descriptors_ = descriptors_.size();
  for (const auto& device : devices_) {
    descriptors_.push_back(device->completions().descriptor());
    log(LogLevel::kDebug, "verbs: color {} is {} at {}, gid {}",
        device->color(), device->name(),
        transport::format_address(device->listen_address().address),
        format_gid(device->listen_address().gid));
  }
  for (const int descriptor : descriptors_) {
    watched_.push_back({descriptor, POLLIN, 0});
  }
  card_bytes_ = encode_card(card, card_);
}

VerbsTransport::~VerbsTransport() {
  const Counters& c = shared_.counters;
  log(LogLevel::kDebug,
      "verbs: {} connections ({} attempts crossed, {} made again, {} strangers "
      "refused), sent "
      "{} packets ({} empty, {} inline, {} signalled), put off {} without "
      "credit and {} without buffer, received {} packets with {} messages",
      c.connected, c.crossed, c.retried, c.refused, c.sent, c.empty, c.inlined,
      c.signalled, c.no_credit, c.no_buffer, c.received, c.delivered);
  log(LogLevel::kDebug,
      "verbs: posted {} chains as {} work requests with {} doorbells, asked "
      "for "
      "{} windows, told of {}, revoked {} regions",
      c.posted, c.requests, c.doorbells, c.wanted, c.told, c.revoked);
  endpoints_.clear();  // queue pairs before what they use
}

Result<transport::Endpoint*> VerbsTransport::endpoint(transport::ProcId peer,
                                                      transport::Color color) {
  const Result<Endpoint*> endpoint = endpoint_to(peer, color);
  return endpoint.ok() ? Result<transport::Endpoint*>(endpoint.value())
                       : Result<transport::Endpoint*>(endpoint.status());
}

Result<Endpoint*> VerbsTransport::endpoint_to(transport::ProcId peer,
                                              transport::Color color) {
  if (color >= capabilities_.colors) {
    return Status::kBadColor;
  }
  const bool is_mine = peer == options_.me;
  if (is_mine) {
    color = 0;  // one connection to myself is enough
  }
  const auto known = endpoints_.find(endpoint_key(peer, color));
  if (known != endpoints_.end()) {
    return known->second.get();
  }
  if (is_mine) {
    return shared_.executes_atomics
               ? Result<Endpoint*>(
                     add_endpoint(endpoint_key(peer, color), peer, color,
                                  devices_[color]->listen_address()))
               : Status::kUnsupported;
  }
  if (peer >= options_.procs) {
    return Status::kInvalidArgument;
  }
  const auto card = decode_card(options_.card_of(peer));
  if (!card) {
    log_error(
        "verbs: process {} has no valid card: it has not opened verbs, or its "
        "library is of a different build",
        peer);
    return Status::kProtocol;
  }
  if (card->colors != capabilities_.colors ||
      card->packet_bytes != kPacketBytes) {
    log_error(
        "verbs: process {} has {} devices and packets of {} bytes, this one "
        "has {} and {}: set ACP_VERBS_DEVICES so that all ranks have equally "
        "many",
        peer, card->colors, card->packet_bytes, capabilities_.colors,
        kPacketBytes);
    return Status::kBadOption;
  }
  if (card->atomics != options_.atomics) {
    log_error(
        "verbs: process {} has ACP_VERBS_ATOMICS={}, this one {}: give all "
        "ranks the same",
        peer, executor_name(card->atomics), executor_name(options_.atomics));
    return Status::kBadOption;
  }
  return add_endpoint(endpoint_key(peer, color), peer, color,
                      card->listen_addresses[color]);
}

/// Where the connection to myself ends, and what fails when this process does.
/// Nobody sends on it: it receives, and returns credit.
Endpoint& VerbsTransport::endpoint_from_myself(transport::Color color) {
  const std::uint64_t key = from_myself_key(options_.procs, color);
  const auto known = endpoints_.find(key);
  return known != endpoints_.end()
             ? *known->second
             : *add_endpoint(key, options_.me, color,
                             devices_[color]->listen_address());
}

Endpoint* VerbsTransport::add_endpoint(std::uint64_t key,
                                       transport::ProcId peer,
                                       transport::Color color,
                                       const ListenAddress& listen_address) {
  auto endpoint = std::make_unique<Endpoint>(shared_, *devices_[color], peer,
                                             listen_address);
  if (has_failed_[peer]) {
    endpoint->abandon();
  }
  // So that nothing is allocated when they are needed.
  shared_.to_flush.reserve(endpoints_.size() + 1);
  shared_.failed.reserve(endpoints_.size() + 1);
  shared_.backing_off.reserve(endpoints_.size() + 1);
  return endpoints_.emplace(key, std::move(endpoint)).first->second.get();
}

std::size_t VerbsTransport::poll(transport::MessageSink& sink) {
  const std::uint64_t before =
      shared_.counters.delivered + shared_.counters.done;
  if (shared_.connecting != 0 || --polls_until_event_check_ < 0) {
    check_descriptors(std::span(watched_).first(event_descriptors_));
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
  return static_cast<std::size_t>(shared_.counters.delivered +
                                  shared_.counters.done - before);
}

/// Links that are due, and no longer in the list those that meanwhile accept
/// their peer's attempt or have failed.
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
      endpoint->retry();  // may put it at the list's end, to be tried later
    }
  }
}

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
  // Credit goes back when the buffers are there again, not before.
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
    endpoint->on_packet(ntohl(completion.imm_data),
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

void VerbsTransport::report_failures(transport::MessageSink& sink) {
  const std::vector<Endpoint*> failed = std::exchange(shared_.failed, {});
  shared_.failed.reserve(endpoints_.size());
  for (const Endpoint* endpoint : failed) {
    const transport::ProcId peer = endpoint->peer();
    if (has_failed_[peer]) {
      continue;
    }
    has_failed_[peer] = true;
    for (const auto& [key, other] : endpoints_) {
      if (other->peer() == peer) {
        other->abandon();
      }
    }
    sink.on_peer_failed(peer, endpoint->failure());
  }
}

TimePoint VerbsTransport::next_deadline() const noexcept {
  if (!shared_.to_flush.empty() || !shared_.failed.empty()) {
    return TimePoint{};  // long ago
  }
  TimePoint next = TimePoint::max();
  for (const Endpoint* endpoint : shared_.backing_off) {
    next = std::min(next, endpoint->retry_at());
  }
  return next;
}

bool VerbsTransport::arm() {
  flush();
  bool is_quiet = shared_.to_flush.empty() && shared_.failed.empty();
  for (const auto& device : devices_) {
    is_quiet = device->completions().arm() && is_quiet;
  }
  return is_quiet;
}

/// Reads the notifications: one that stays would end every later sleep. Nobody
/// else may, since who has armed and sleeps relies on finding it.
void VerbsTransport::disarm() {
  check_descriptors(watched_);
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    if (watched_[event_descriptors_ + i].revents != 0) {
      devices_[i]->completions().take_notifications();
    }
  }
}

/// Finds out in one call what there is to read.
void VerbsTransport::check_descriptors(std::span<pollfd> descriptors) {
  polls_until_event_check_ = kPollsBetweenEventChecks;
  if (::poll(descriptors.data(), descriptors.size(), 0) > 0) {
    for (const pollfd& each : descriptors.first(event_descriptors_)) {
      has_events_ |= each.revents != 0;
    }
  }
}

}  // namespace acp::verbs
