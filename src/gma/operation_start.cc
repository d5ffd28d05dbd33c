// The start of a step or of a whole chain: looks up its ends, chooses the way,
// and makes the flight. Part of OperationRunner, whose advance() calls it.
// Nothing here takes an answer; what needs an endpoint waits in its queue.
#include <algorithm>

#include "gma/operation_runner.h"
#include "gma/word_step.h"

namespace acp::gma {

OperationRunner::Progress OperationRunner::run_step(Operation& operation,
                                                    const Step& step) {
  if (std::holds_alternative<Signal>(operation.flight)) {
    return run_signal(operation, space_.codec().rank(step.remote));
  }
  if (step.opcode != protocol::Opcode::kCopy) {
    return run_chain_step(operation, step);
  }
  // Between own memory and a far rank there is one way. It needs no look-up of
  // the far end, which only its owner can check. The source of a put is looked
  // up when its bytes are sent.
  if (space_.is_far(step.remote) &&
      space_.codec().rank(step.local) == space_.my_rank()) {
    return send_bulk(operation, as_put(step));
  }
  if (space_.is_far(step.local) && space_.is_own(step.remote, step.size)) {
    return send_bulk(operation, as_get(step));
  }
  return run_copy(operation, step, space_.locate(step.remote, step.size),
                  space_.locate(step.local, step.size));
}

/// Sends a put or a get to the agent or the endpoint of a far rank, in pieces
/// or as one request in parts.
OperationRunner::Progress OperationRunner::send_bulk(Operation& operation,
                                                     const Step& bulk) {
  const auto& codec = space_.codec();
  const Result<PeerQueue*> queue =
      queues_.queue_to(codec.rank(bulk.remote), codec.color(bulk.remote));
  if (!queue.ok()) {
    return fail(operation, queue.status());
  }
  if (bulk.opcode == protocol::Opcode::kPut &&
      FlightSender::needs_parts(bulk.size, queue.value()->to())) {
    operation.flight = Parts{.put = bulk, .request_id = std::nullopt};
  } else {
    operation.flight = Pieces{bulk};
  }
  return send_or_queue(operation, *queue.value());
}

/// Sends the first message in this call, unless other operations wait for the
/// endpoint. The rest goes by way of the queue. Posts always wait for pump(),
/// because an endpoint that posts may be in its poll now. kDone: all is sent,
/// and no answer is owed.
OperationRunner::Progress OperationRunner::send_or_queue(Operation& operation,
                                                         PeerQueue& queue) {
  operation.has_unsent = true;
  if (!queue.is_listed() && queue.to().max_posted == 0) {
    const Status status = sender_.send(queue, operation);
    if (status != Status::kOk && status != Status::kAgain) {
      operation.has_unsent = false;
      return fail(operation, status);
    }
  }
  if (operation.has_unsent) {
    queues_.add(operation, queue);
    return Progress::kPending;
  }
  return operation.outstanding != 0 ? Progress::kPending : Progress::kDone;
}

/// Copies a slice here if that is possible, and sends the rest otherwise.
/// Between slices the mutex is free, so each slice looks up its ends again
/// (invariant 8).
OperationRunner::Progress OperationRunner::run_copy(
    Operation& operation,
    const Step& copy,
    const Result<gmm::Target>& to,
    const Result<gmm::Target>& from) {
  if (!to.ok() || !from.ok()) {
    return fail(operation, to.ok() ? from.status() : to.status());
  }
  const auto* slices = std::get_if<Slices>(&operation.flight);
  const std::uint64_t copied = slices != nullptr ? slices->copied_bytes : 0;
  const LocalCopier::Plan plan =
      LocalCopier::plan(copy.size, copied, to.value(), from.value());
  const End to_end = end_of(to.value());
  const End from_end = end_of(from.value());
  const ThirdParty third = third_party(copy, to.value(), from.value());
  Way way = route_copy(to_end, from_end, Transfers::kPossible, third);
  if (LocalCopier::does(way)) {
    const Step slice = piece_of(copy, plan.slice_offset, plan.slice_bytes);
    const Status status =
        copier_.copy(way, slice, advanced(to.value(), plan.slice_offset),
                     advanced(from.value(), plan.slice_offset));
    if (status == Status::kOk && slice.size == plan.rest_bytes) {
      return Progress::kDone;
    }
    if (status == Status::kOk) {
      operation.flight = Slices{copied + slice.size};
      long_copies_.push_back(&operation);
      return Progress::kPending;
    }
    if (status != Status::kUnsupported) {
      return fail(operation, status);
    }
    way = route_copy(to_end, from_end, Transfers::kRefused, third);
  }
  return send_copy(operation, way,
                   piece_of(copy, plan.rest_offset, plan.rest_bytes),
                   from.value().rank);
}

/// Finds out all that could keep the put from being posted before it changes
/// the operation, which waits for its turn then.
bool OperationRunner::post_behind(Operation& operation, PeerQueue& queue) {
  const Step& step = operation.steps.front();
  const bool is_put =
      operation.steps.size() == 1 && (step.opcode == protocol::Opcode::kCopy ||
                                      step.opcode == protocol::Opcode::kPut);
  if (!is_put || step.size > queue.to().max_posted || queue.is_listed()) {
    return false;
  }
  const Result<gmm::Target> to = space_.locate(step.remote, step.size);
  const Result<gmm::Target> from = space_.locate(step.local, step.size);
  if (!to.ok() || !from.ok() ||
      route_copy(end_of(to.value()), end_of(from.value()), Transfers::kPossible,
                 ThirdParty::kNot) != Way::kPut) {
    return false;
  }
  const Result<PeerQueue*> mine =
      queues_.queue_to(to.value().rank, space_.codec().color(step.remote));
  if (!mine.ok() || mine.value() != &queue) {
    return false;
  }
  operation.flight = Pieces{.step = as_put(step)};
  if (sender_.post_put(queue, operation) == Status::kOk) {
    return true;
  }
  operation.flight = Idle{};
  return false;
}

/// A piece that went as a message could be refused, and so could joined words.
PeerQueue* OperationRunner::queue_of_posted_put(const Operation& operation) {
  const auto* pieces = std::get_if<Pieces>(&operation.flight);
  if (pieces == nullptr || operation.steps.size() != 1 ||
      operation.has_unsent || pieces->has_messages ||
      pieces->step.opcode != protocol::Opcode::kPut) {
    return nullptr;
  }
  const GlobalAddress remote = pieces->step.remote;
  const Result<PeerQueue*> queue = queues_.queue_to(
      space_.codec().rank(remote), space_.codec().color(remote));
  return queue.ok() && queue.value()->to().orders_puts ? queue.value()
                                                       : nullptr;
}

/// Makes the flight of a copy that this process does not do by itself, and
/// queues it.
OperationRunner::Progress OperationRunner::send_copy(Operation& operation,
                                                     Way way,
                                                     const Step& rest,
                                                     Rank source) {
  if (way == Way::kRelay) {
    operation.flight = Relayed{rest};
    relay_.add(operation);
    return Progress::kPending;
  }
  if (way != Way::kDelegate) {
    return send_bulk(operation, way == Way::kPut ? as_put(rest) : as_get(rest));
  }
  operation.flight = Pieces{rest};
  return enqueue(operation, source, space_.codec().color(rest.local));
}

/// Ends on one rank may overlap, so the agent of that rank copies. Endpoints
/// are not asked when an end is mapped, or when transfers can do the copy.
ThirdParty OperationRunner::third_party(const Step& copy,
                                        const gmm::Target& to,
                                        const gmm::Target& from) {
  const auto& codec = space_.codec();
  const bool is_relayable = to.direct == nullptr && from.direct == nullptr &&
                            to.rank != from.rank &&
                            !(to.is_same_host && from.is_same_host) &&
                            reaches(to, codec.color(copy.remote)) &&
                            reaches(from, codec.color(copy.local));
  return is_relayable ? ThirdParty::kRelayable : ThirdParty::kNot;
}

bool OperationRunner::reaches(const gmm::Target& target, Color color) {
  const Result<PeerEndpoint> found = endpoints_.endpoint_of(target.rank, color);
  return found.ok() && (target.is_same_host || found.value().max_posted != 0);
}

/// Runs a put, a get or a word. Looks up both ends before any effect.
OperationRunner::Progress OperationRunner::run_chain_step(Operation& operation,
                                                          const Step& step) {
  const std::uint64_t size = bytes_at_remote(step);
  if (size == 0) {
    return Progress::kDone;
  }
  const Result<gmm::Target> remote = space_.locate(step.remote, size);
  if (!remote.ok()) {
    return fail(operation, remote.status());
  }
  if (is_bulk(step)) {
    const Result<gmm::Target> local = space_.locate(step.local, size);
    if (local.ok() && local.value().rank != space_.my_rank()) {
      return fail(operation, Status::kBadRank);
    }
    const bool is_put = step.opcode == protocol::Opcode::kPut;
    return run_copy(operation, as_copy(step), is_put ? remote : local,
                    is_put ? local : remote);
  }
  if (step.local != 0) {
    const Result<std::byte*> local = space_.own(step.local, size);
    if (!local.ok()) {
      return fail(operation, local.status());
    }
  }
  if (word_way(space_, step, remote.value()) == WordWay::kHere) {
    run_word(space_, waker_, step, remote.value().direct);
    return Progress::kDone;
  }
  operation.flight = Pieces{step};
  return enqueue(operation, remote.value().rank, sender_.color_of(step));
}

/// Rings the doorbell of a rank whose word a device has changed.
OperationRunner::Progress OperationRunner::run_signal(Operation& operation,
                                                      Rank rank) {
  if (protocol::SliceHeader* slice = space_.slice_header(rank)) {
    gmm::ring_signal(*slice, waker_);
    return Progress::kDone;
  }
  return enqueue(operation, rank, 0);
}

OperationRunner::Progress OperationRunner::enqueue(Operation& operation,
                                                   Rank rank,
                                                   Color color) {
  const Result<PeerQueue*> queue = queues_.queue_to(rank, color);
  if (!queue.ok()) {
    return fail(operation, queue.status());
  }
  return send_or_queue(operation, *queue.value());
}

/// Whether no step of a chain has to leave this process. A step that cannot be
/// looked up counts as local: it fails when its turn comes.
bool OperationRunner::runs_here(const Operation& operation) const {
  // A step of no bytes may have any address, so the rank may be out of range.
  const Rank rank = space_.codec().rank(operation.steps.front().remote);
  if (rank < space_.codec().procs() && space_.slice_of(rank) == nullptr) {
    return false;
  }
  bool is_reachable = true;
  for (const Step& step : operation.steps) {
    const Result<gmm::Target> remote =
        space_.locate(step.remote, bytes_at_remote(step));
    if (!remote.ok()) {
      return true;
    }
    const bool is_here =
        is_bulk(step)
            ? remote.value().direct != nullptr
            : word_way(space_, step, remote.value()) == WordWay::kHere;
    is_reachable = is_reachable && is_here;
  }
  return is_reachable;
}

/// Sends a chain in one flight if a step has to leave this process and the
/// chain fits one message. It leaves at once if no other operation waits for
/// the peer. kDone: the chain runs step by step.
OperationRunner::Progress OperationRunner::start_chain(Operation& operation) {
  const GlobalAddress first = operation.steps.front().remote;
  const Rank rank = space_.codec().rank(first);
  const bool is_for_device = sender_.has_step_for_device(operation);
  const bool has_copy = std::ranges::any_of(
      operation.steps,
      [](const Step& step) { return step.opcode == protocol::Opcode::kCopy; });
  if (has_copy) {
    return Progress::kDone;  // its source may be on a third rank
  }
  if (is_for_device) {
    if (rank == space_.my_rank()) {
      return Progress::kDone;  // only the atomics need the device
    }
    operation.flight = Chain{};
    return enqueue(operation, rank, 0);
  }
  if (runs_here(operation)) {
    return Progress::kDone;
  }
  const Result<PeerQueue*> found =
      queues_.queue_to(rank, space_.codec().color(first));
  if (!found.ok() ||
      !FlightSender::fits_one_message(operation, found.value()->to())) {
    return Progress::kDone;
  }
  PeerQueue& queue = *found.value();
  operation.flight = Chain{};
  const Status status =
      queue.is_listed() ? Status::kAgain : sender_.send(queue, operation);
  if (status == Status::kAgain) {
    queues_.add(operation, queue);
    return Progress::kPending;
  }
  return status == Status::kOk ? Progress::kPending : fail(operation, status);
}

}  // namespace acp::gma
