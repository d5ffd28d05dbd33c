// The part of VerbsTransport that makes and finds endpoints, and reports peers
// that have failed. Called by the engine, by poll() and by events.cc. It
// reports a peer once, and makes no endpoint before the peer's address card
// fits the settings.
#include <utility>

#include "base/log.h"
#include "verbs/verbs_transport.h"

namespace acp::verbs {

namespace {

std::uint64_t endpoint_key(transport::ProcId peer, transport::Color color) {
  return std::uint64_t{peer} * kMaxColors + color;
}

/// Key of the accepting end of the connection to itself: as a process beyond
/// the last.
std::uint64_t from_myself_key(std::uint32_t procs, transport::Color color) {
  return endpoint_key(procs, color);
}

}  // namespace

Result<transport::Endpoint*> VerbsTransport::endpoint(transport::ProcId peer,
                                                      transport::Color color) {
  const Result<Endpoint*> endpoint = endpoint_to(peer, color);
  return endpoint.ok() ? Result<transport::Endpoint*>(endpoint.value())
                       : Result<transport::Endpoint*>(endpoint.status());
}

/// Makes the endpoint at first use, after the peer's address card has been
/// compared with the settings of this process.
Result<Endpoint*> VerbsTransport::endpoint_to(transport::ProcId peer,
                                              transport::Color color) {
  if (color >= capabilities_.colors) {
    return Status::kBadColor;
  }
  const bool is_mine = peer == options_.me;
  if (is_mine) {
    color = 0;  // one connection to itself is enough
  }
  const auto known = endpoints_.find(endpoint_key(peer, color));
  if (known != endpoints_.end()) {
    return known->second.get();
  }
  if (is_mine) {
    return shared_.executes_atomics
               ? Result<Endpoint*>(add_endpoint(
                     endpoint_key(peer, color), peer, color,
                     devices_[color]->listen_address(), Executor::kDevice))
               : Status::kUnsupported;
  }
  if (peer >= options_.procs) {
    return Status::kBadRank;
  }
  if (unfit_peer_.is_found()) {
    return Status::kBadOption;  // said before, and the job ends
  }
  const auto bytes = options_.card_of(peer);
  if (!bytes.ok()) {
    return bytes.status();
  }
  const auto card = decode_card(*bytes);
  if (!card) {
    return unfit_peer_.refuse_card(peer, options_.name_of(peer));
  }
  if (card->colors != capabilities_.colors ||
      card->packet_bytes != kPacketBytes) {
    log_error(
        "verbs: {} has {} devices and packets of {} bytes, this one has {} and "
        "{}: set ACP_VERBS_DEVICES so that all ranks have equally many",
        options_.name_of(peer), card->colors, card->packet_bytes,
        capabilities_.colors, kPacketBytes);
    return unfit_peer_.refuse(peer, Status::kBadOption);
  }
  if ((card->atomics == Executor::kDevice) !=
      (options_.atomics == Executor::kDevice)) {
    log_error(
        "verbs: {} has ACP_VERBS_ATOMICS={}, this one {}: give all ranks the "
        "same",
        options_.name_of(peer), executor_name(card->atomics),
        executor_name(options_.atomics));
    return unfit_peer_.refuse(peer, Status::kBadOption);
  }
  if (card->writes != options_.writes) {
    log_error(
        "verbs: {} has ACP_VERBS_WRITES={}, this one {}: give all ranks the "
        "same",
        options_.name_of(peer), write_order_name(card->writes),
        write_order_name(options_.writes));
    return unfit_peer_.refuse(peer, Status::kBadOption);
  }
  return add_endpoint(endpoint_key(peer, color), peer, color,
                      card->listen_addresses[color], executor_for(*card));
}

/// Devices take part beside agents only where those of both ends agree with
/// CPUs: the target's executes, and this process's stores the result.
Executor VerbsTransport::executor_for(const AddressCard& peer) const noexcept {
  return peer.atomics == options_.atomics ? options_.atomics : Executor::kAgent;
}

/// The accepting end of the connection of this process to itself. It only
/// receives and returns credit. It also fails when this process itself is lost.
Endpoint& VerbsTransport::endpoint_from_myself(transport::Color color) {
  const std::uint64_t key = from_myself_key(options_.procs, color);
  const auto known = endpoints_.find(key);
  return known != endpoints_.end()
             ? *known->second
             : *add_endpoint(key, options_.me, color,
                             devices_[color]->listen_address(),
                             options_.atomics);
}

Endpoint* VerbsTransport::add_endpoint(std::uint64_t key,
                                       transport::ProcId peer,
                                       transport::Color color,
                                       const transport::Address& listen_address,
                                       Executor atomics) {
  auto endpoint = std::make_unique<Endpoint>(shared_, *devices_[color], peer,
                                             listen_address, atomics);
  if (has_failed_[peer]) {
    endpoint->abandon();
  }
  // Room for all endpoints, so that later appends allocate nothing.
  shared_.to_flush.reserve(endpoints_.size() + 1);
  shared_.failed.reserve(endpoints_.size() + 1);
  shared_.spare.reserve(endpoints_.size() + 1);
  shared_.backing_off.reserve(endpoints_.size() + 1);
  return endpoints_.emplace(key, std::move(endpoint)).first->second.get();
}

/// Reports each failed peer once, and gives it up in all colors first.
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

}  // namespace acp::verbs
