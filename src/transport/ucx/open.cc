// Opening the transport, and the endpoints to its peers. Called by
// open_network.cc and by the engine. It sends nothing: flush() makes the UCP
// endpoint of a peer.
#include <algorithm>
#include <cstdlib>

#include "base/host_facts.h"
#include "base/log.h"
#include "transport/ucx/ucx_transport.h"

namespace acp::ucx {

namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// The lists of ACP_UCX_DEVICES; one empty list when it is empty.
std::vector<std::string> split_lists(std::string_view devices) {
  std::vector<std::string> lists;
  while (true) {
    const auto end = devices.find(';');
    lists.emplace_back(devices.substr(0, end));
    if (end == std::string_view::npos) {
      return lists;
    }
    devices.remove_prefix(end + 1);
  }
}

std::uint64_t endpoint_key(transport::ProcId peer, transport::Color color) {
  return std::uint64_t{peer} * kMaxColors + color;
}

}  // namespace

/// Each list of devices is a worker and a color. The address card is written
/// last, because it has the addresses of all workers. A peer may send as soon
/// as it has read them.
Result<std::unique_ptr<UcxTransport>> UcxTransport::open(UcxOptions options) {
  const std::vector<std::string> lists = split_lists(options.devices);
  const bool has_empty =
      lists.size() > 1 && std::ranges::count(lists, std::string()) != 0;
  if (lists.size() > kMaxColors || has_empty) {
    log_error(
        "ACP_UCX_DEVICES=\"{}\": up to {} lists of devices, separated by "
        "semicolons, and none of several may be empty",
        options.devices, kMaxColors);
    return Status::kBadOption;
  }
  std::vector<std::unique_ptr<Worker>> workers;
  for (const std::string& list : lists) {
    auto worker = Worker::open(static_cast<transport::Color>(workers.size()),
                               list, options.atomics);
    if (!worker.ok()) {
      return worker.status();
    }
    workers.push_back(std::move(*worker));
  }
  std::unique_ptr<UcxTransport> transport(
      new UcxTransport(std::move(options), std::move(workers)));
  if (const Status status = transport->receive_packets();
      status != Status::kOk) {
    return status;
  }
  transport->write_card();
  return transport;
}

/// Only takes over the open workers. open() calls receive_packets() afterwards,
/// which gives UCX a pointer into this object, and can fail.
UcxTransport::UcxTransport(UcxOptions options,
                           std::vector<std::unique_ptr<Worker>> workers)
    : options_(std::move(options)),
      workers_(std::move(workers)),
      regions_(static_cast<transport::Color>(workers_.size())),
      shared_{.me = options_.me,
              .job = options_.job,
              .regions = regions_,
              .fault_note = fault_note_,
              .tls = environment("UCX_TLS").substr(0, kMaxText),
              .executes_atomics = options_.atomics == Executor::kDevice,
              .name_of = options_.name_of},
      has_failed_(options_.procs) {
  capabilities_ = {.max_message = kMaxMessage,
                   .max_posted = kMaxStepBytes,
                   .colors = static_cast<transport::Color>(workers_.size()),
                   .executes_atomics = shared_.executes_atomics};
  for (const auto& worker : workers_) {
    descriptors_.push_back(worker->descriptor());
  }
}

/// UCX keeps a pointer to the argument of a handler, so each worker has one
/// that lives as long as the transport. Whole messages only: a packet fits one.
Status UcxTransport::receive_packets() {
  for (const auto& worker : workers_) {
    receivers_[worker->color()] = {this, worker->color()};
    ucp_am_handler_param_t param{};
    param.field_mask =
        UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
        UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
    param.id = 0;
    param.flags = UCP_AM_FLAG_WHOLE_MSG;
    param.cb = on_packet_callback;
    param.arg = &receivers_[worker->color()];
    const ucs_status_t status =
        ucp_worker_set_am_recv_handler(worker->handle(), &param);
    if (status != UCS_OK) {
      log_error("ucx: ucp_worker_set_am_recv_handler: {}",
                ucs_status_string(status));
      return Status::kUnsupported;
    }
  }
  return Status::kOk;
}

void UcxTransport::write_card() {
  AddressCard card{.atomics = options_.atomics,
                   .api = library_version(),
                   .tls = shared_.tls,
                   .host = host_name()};
  for (const auto& worker : workers_) {
    card.addresses.push_back(worker->addresses());
    if (!options_.has_other_hosts) {
      card.addresses.back().network.clear();
    }
  }
  card_ = encode_card(card);
}

PeerLocality UcxTransport::locality_of(transport::ProcId peer) const {
  return options_.is_local && options_.is_local(peer)
             ? PeerLocality::kThisHost
             : PeerLocality::kOtherHost;
}

/// The address card of a peer, decoded at the first contact and compared with
/// this process's own.
Result<const AddressCard*> UcxTransport::card_of(transport::ProcId peer) {
  const auto known = cards_.find(peer);
  if (known != cards_.end()) {
    return &known->second;
  }
  if (unfit_peer_.is_found()) {
    return Status::kBadOption;  // said before, and the job ends
  }
  const auto bytes = options_.card_of(peer);
  if (!bytes.ok()) {
    return bytes.status();
  }
  auto card = decode_card(*bytes);
  // A process that knows of no other host has no address for them.
  if (!card || (locality_of(peer) == PeerLocality::kOtherHost &&
                std::ranges::any_of(card->addresses, [](const auto& each) {
                  return each.network.empty();
                }))) {
    return unfit_peer_.refuse_card(peer, options_.name_of(peer));
  }
  if (card->addresses.size() != workers_.size() ||
      card->atomics != options_.atomics) {
    log_error(
        "ucx: {} on {} has colors: {}, and ACP_UCX_ATOMICS={}; this rank has "
        "colors: {}, and ACP_UCX_ATOMICS={}: give all ranks equal "
        "ACP_UCX_ATOMICS, and as many lists in ACP_UCX_DEVICES",
        options_.name_of(peer), card->host, card->addresses.size(),
        executor_name(card->atomics), workers_.size(),
        executor_name(options_.atomics));
    return unfit_peer_.refuse(peer, Status::kBadOption);
  }
  return &cards_.emplace(peer, std::move(*card)).first->second;
}

/// Looks at the address card when it makes the endpoint. A peer that has failed
/// in another color gets an endpoint that fails at once.
Result<Endpoint*> UcxTransport::endpoint_to(transport::ProcId peer,
                                            transport::Color color) {
  const std::uint64_t key = endpoint_key(peer, color);
  const auto known = endpoints_.find(key);
  if (known != endpoints_.end()) {
    return known->second.get();
  }
  const Result<const AddressCard*> card = card_of(peer);
  if (!card.ok()) {
    return card.status();
  }
  auto endpoint = std::make_unique<Endpoint>(shared_, *workers_[color], peer,
                                             **card, locality_of(peer));
  if (has_failed_[peer]) {
    endpoint->abandon();
  }
  return endpoints_.emplace(key, std::move(endpoint)).first->second.get();
}

/// With atomics of devices, a process reaches itself in color 0.
Result<transport::Endpoint*> UcxTransport::endpoint(transport::ProcId peer,
                                                    transport::Color color) {
  if (peer >= options_.procs) {
    return Status::kBadRank;
  }
  if (color >= workers_.size()) {
    return Status::kBadColor;
  }
  if (peer == options_.me && !shared_.executes_atomics) {
    return Status::kUnsupported;
  }
  const Result<Endpoint*> found =
      endpoint_to(peer, peer == options_.me ? 0 : color);
  if (!found.ok()) {
    return found.status();
  }
  return static_cast<transport::Endpoint*>(*found);
}

}  // namespace acp::ucx
