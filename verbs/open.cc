// VerbsTransport::open: finds ports, opens devices, makes the transport. Called
// by open_network.cc, once per process. It makes no connection: endpoints do
// that at first use.
#include <algorithm>

#include "base/log.h"
#include "verbs/find_ports.h"
#include "verbs/verbs_transport.h"

namespace acp::verbs {

namespace {

/// Differs from rank to rank, so that ranks which failed together do not try
/// again together.
std::uint32_t seed_of(const VerbsOptions& options) {
  std::uint32_t seed = options.me + 1;
  for (const std::uint8_t byte : options.job) {
    seed = seed * 31 + byte;
  }
  return seed;
}

using Devices = std::vector<std::unique_ptr<Device>>;

/// Where the devices are to take part beside the agents, they do if the atomics
/// of all of them agree with the CPU's.
Executor settle_executor(Executor wanted, const Devices& devices) {
  const bool do_agree = std::ranges::all_of(
      devices, [](const auto& device) { return device->agrees_with_cpu(); });
  return wanted == Executor::kBoth && !do_agree ? Executor::kAgent : wanted;
}

Status prepare_atomics(Executor executor, const Devices& devices) {
  if (executor == Executor::kAgent) {
    return Status::kOk;
  }
  for (const auto& device : devices) {
    if (!device->has_atomics()) {
      log_error(
          "ACP_VERBS_ATOMICS=device: {} has no atomics of 8 bytes; choose "
          "other devices with ACP_VERBS_DEVICES, or set "
          "ACP_VERBS_ATOMICS=agent",
          device->name());
      return Status::kUnsupported;
    }
    if (const Status status = device->make_words(); status != Status::kOk) {
      return status;
    }
  }
  return Status::kOk;
}

/// Without the order of writes each device needs a word for the results of
/// proofs, which are reads.
Status prepare_writes(WriteOrder writes, const Devices& devices) {
  if (writes == WriteOrder::kOrdered) {
    return Status::kOk;
  }
  for (const auto& device : devices) {
    if (device->responder_resources() == 0 || device->initiator_depth() == 0) {
      log_error(
          "ACP_VERBS_WRITES={}: {} has no RDMA reads, which prove that writes "
          "have arrived; choose other devices with ACP_VERBS_DEVICES",
          write_order_name(writes), device->name());
      return Status::kUnsupported;
    }
    if (const Status status = device->make_proof_word();
        status != Status::kOk) {
      return status;
    }
    if (writes == WriteOrder::kRelaxed) {
      device->relax_memory();
    }
  }
  log(LogLevel::kInfo,
      "verbs: ACP_VERBS_WRITES={}: puts end with a read that proves them{}",
      write_order_name(writes),
      writes == WriteOrder::kRelaxed
          ? ", and memory is registered for relaxed ordering"
          : "");
  return Status::kOk;
}

}  // namespace

/// The event channel comes first: ports are found by binding ids to it. A
/// device is opened for each port, in the order of the colors.
Result<std::unique_ptr<VerbsTransport>> VerbsTransport::open(
    VerbsOptions options) {
  auto channel = open_event_channel();
  if (!channel.ok()) {
    return channel.status();
  }
  auto ports = find_ports(**channel, options.devices, options.most_colors,
                          options.chooser);
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
    // Connections to all other processes, and two ends of one to itself.
    auto device = Device::open(std::move(port),
                               static_cast<transport::Color>(devices.size()),
                               {.connections = options.procs + 1,
                                .max_receives = options.max_receives});
    if (!device.ok()) {
      return device.status();
    }
    devices.push_back(std::move(*device));
  }
  const Executor wanted_atomics = options.atomics;
  options.atomics = settle_executor(wanted_atomics, devices);
  if (const Status status = prepare_atomics(options.atomics, devices);
      status != Status::kOk) {
    return status;
  }
  if (const Status status = prepare_writes(options.writes, devices);
      status != Status::kOk) {
    return status;
  }
  return std::unique_ptr<VerbsTransport>(
      new VerbsTransport(std::move(options), wanted_atomics,
                         std::move(*channel), std::move(devices)));
}

/// Order: the state that endpoints share, what this transport can do, its
/// address card, and the descriptors that a thread sleeps on.
VerbsTransport::VerbsTransport(VerbsOptions options,
                               Executor wanted_atomics,
                               EventChannel channel,
                               std::vector<std::unique_ptr<Device>> devices)
    : options_(std::move(options)),
      wanted_atomics_(wanted_atomics),
      channel_(std::move(channel)),
      devices_(std::move(devices)),
      regions_(static_cast<transport::Color>(devices_.size())),
      shared_{.me = options_.me,
              .job = options_.job,
              .channel = *channel_,
              .regions = regions_,
              .executes_atomics = options_.atomics == Executor::kDevice,
              .proves_writes = options_.writes != WriteOrder::kOrdered,
              .first_pair = options_.first_pair,
              .timers = options_.timers,
              .traffic_class = options_.traffic_class,
              .jitter = Jitter(seed_of(options_)),
              .name_of = options_.name_of},
      has_failed_(options_.procs) {
  capabilities_.max_message = kMaxMessageBytes;
  capabilities_.max_posted = kMaxStepBytes;
  // One queue pair keeps the order of its work requests, unless the setting
  // says otherwise. It is replaced by the large one only when nothing is under
  // way.
  capabilities_.orders_posts = !shared_.proves_writes;
  capabilities_.colors = static_cast<transport::Color>(devices_.size());
  AddressCard card;
  card.colors = capabilities_.colors;
  card.packet_bytes = kPacketBytes;
  card.atomics = options_.atomics;
  card.writes = options_.writes;
  capabilities_.executes_atomics = shared_.executes_atomics;
  descriptors_.push_back(channel_->fd);
  for (const auto& device : devices_) {
    card.listen_addresses[device->color()] = device->listen_address();
    const int events = device->event_descriptor();
    // Ports of one device share this descriptor.
    if (std::find(descriptors_.begin(), descriptors_.end(), events) ==
        descriptors_.end()) {
      descriptors_.push_back(events);
    }
  }
  event_descriptors_ = descriptors_.size();
  for (const auto& device : devices_) {
    descriptors_.push_back(device->completions().descriptor());
    log(LogLevel::kDebug, "verbs: color {} is {} at {}, gid {}, class {}",
        device->color(), device->name(),
        transport::format_address(device->listen_address()),
        format_gid(device->gid()), shared_.traffic_class);
  }
  for (const int descriptor : descriptors_) {
    watched_.push_back({descriptor, POLLIN, 0});
  }
  card_bytes_ = encode_card(card, card_);
}

}  // namespace acp::verbs
