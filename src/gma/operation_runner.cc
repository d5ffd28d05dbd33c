// Runs operations step by step. The engine starts operations and calls pump();
// the runtime hands in replies, completions and lost peers. Nothing here
// blocks, and nothing here looks at the order of operations.
#include "gma/operation_runner.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "gma/describe.h"
#include "gma/reply_results.h"
#include "gma/word_step.h"

namespace acp::gma {

OperationRunner::OperationRunner(const gmm::AddressSpace& space,
                                 Endpoints& endpoints,
                                 gmm::ThreadWaker& waker,
                                 OperationOwner& owner)
    : space_(space),
      endpoints_(endpoints),
      waker_(waker),
      owner_(owner),
      queues_(endpoints),
      sender_(space, requests_),
      copier_(space, endpoints),
      relay_(space) {}

void OperationRunner::start(Operation& operation) {
  operation.current = 0;
  operation.status = Status::kOk;
  operation.flight = Idle{};
  if (operation.steps.size() > 1 &&
      start_chain(operation) == Progress::kPending) {
    return;
  }
  advance(operation);
}

/// Runs steps until one is under way, one fails, or all are done.
void OperationRunner::advance(Operation& operation) {
  while (operation.current < operation.steps.size() &&
         operation.status == Status::kOk) {
    switch (run_step(operation, operation.steps[operation.current])) {
      case Progress::kDone:
        ++operation.current;
        operation.flight = Idle{};
        break;
      case Progress::kFailed: break;
      case Progress::kPending: return;
    }
  }
  finish(operation);
}

/// Keeps invariant 7: the operation may be in use again when on_finished()
/// returns, so nothing is read from it afterwards.
void OperationRunner::finish(Operation& operation) {
  if (operation.owner == Owner::kRelay) {
    end_relay_part(operation);
    return;
  }
  if (operation.status != Status::kOk) {
    log_error("{}: {}{}", describe(operation, space_),
              status_text(operation.status),
              describe_bounds(operation, space_));
  }
  owner_.on_finished(operation);
}

/// Logs no failure of a part: the relayed copy logs it when it ends.
void OperationRunner::end_relay_part(Operation& part) {
  Operation* copy = relay_.on_ended(part);
  if (copy == nullptr) {
    return;
  }
  if (copy->status == Status::kOk) {
    end_flight(*copy);
  }
  advance(*copy);
}

OperationRunner::Progress OperationRunner::fail(Operation& operation,
                                                Status status) {
  operation.status = status;
  return Progress::kFailed;
}

OperationRunner::Progress OperationRunner::run_step(Operation& operation,
                                                    const Step& step) {
  if (std::holds_alternative<Signal>(operation.flight)) {
    return run_signal(operation, space_.codec().rank(step.remote));
  }
  if (step.opcode != protocol::Opcode::kCopy) {
    return run_chain_step(operation, step);
  }
  return run_copy(operation, step, space_.locate(step.remote, step.size),
                  space_.locate(step.local, step.size));
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
                   to.value(), from.value());
}

/// Makes the flight of a copy that this process does not do by itself, and
/// queues it.
OperationRunner::Progress OperationRunner::send_copy(Operation& operation,
                                                     Way way,
                                                     const Step& rest,
                                                     const gmm::Target& to,
                                                     const gmm::Target& from) {
  const auto& codec = space_.codec();
  if (way == Way::kRelay) {
    operation.flight = Relayed{rest};
    relay_.add(operation);
    return Progress::kPending;
  }
  if (way != Way::kPut) {
    operation.flight = Pieces{way == Way::kGet ? as_get(rest) : rest};
    return enqueue(operation, from.rank, codec.color(rest.local));
  }
  const Result<PeerQueue*> queue =
      queues_.queue_to(to.rank, codec.color(rest.remote));
  if (!queue.ok()) {
    return fail(operation, queue.status());
  }
  if (FlightSender::needs_parts(rest.size, queue.value()->to())) {
    operation.flight = Parts{.put = as_put(rest), .request_id = std::nullopt};
  } else {
    operation.flight = Pieces{as_put(rest)};
  }
  queues_.add(operation, *queue.value());
  return Progress::kPending;
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
  queues_.add(operation, *queue.value());
  return Progress::kPending;
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

bool OperationRunner::pump() {
  while (relay_.has_next()) {
    start(relay_.next_part());
  }
  queues_.for_each_listed([this](PeerQueue& queue) { send_queue(queue); });
  if (long_copies_.empty()) {
    return false;
  }
  // Copies that are not done yet list themselves again for the next pump().
  turn_.swap(long_copies_);
  for (Operation* operation : turn_) {
    advance(*operation);
  }
  turn_.clear();
  return true;
}

/// Sends first come, first served, until the queue is empty or the endpoint
/// has no room.
void OperationRunner::send_queue(PeerQueue& queue) {
  while (!queue.is_empty()) {
    Operation& operation = queue.front();
    Status status = Status::kOk;
    while (operation.has_unsent && operation.status == Status::kOk &&
           status == Status::kOk) {
      status = sender_.send(queue, operation);
    }
    if (status == Status::kAgain) {
      return;
    }
    queue.pop_front();
    operation.has_unsent = false;
    if (status == Status::kUnsupported &&
        std::holds_alternative<Chain>(operation.flight)) {
      operation.flight = Idle{};  // nothing was sent: step by step
      advance(operation);
      continue;
    }
    if (status != Status::kOk) {
      operation.status = status;
    }
    settle(operation, queue);
  }
}

void OperationRunner::on_reply(std::span<const std::byte> bytes) {
  const auto reply = protocol::decode_reply(bytes);
  if (!reply ||
      requests_.find(reply->header.id, AnsweredBy::kReply) == nullptr) {
    log(LogLevel::kDebug, "reply of {} bytes to no request", bytes.size());
    return;
  }
  const Request request = requests_.close(reply->header.id);
  Operation& operation = *request.operation;
  const Status status = place_results(space_, request, *reply, operation);
  if (operation.status == Status::kOk) {
    operation.status = status;
  }
  settle(operation, *request.queue);
}

void OperationRunner::on_posted_done(std::uint64_t id) {
  if (requests_.find(id, AnsweredBy::kCompletion) == nullptr) {
    return;  // fail_peer() has closed the request
  }
  const Request request = requests_.close(id);
  settle(*request.operation, *request.queue);
}

/// Called after an answer or a failed send. The operation goes on when nothing
/// of its flight is unsent or unanswered. A failed operation sends no more, but
/// waits for its open requests (invariant 6).
void OperationRunner::settle(Operation& operation, PeerQueue& queue) {
  if (operation.status != Status::kOk && operation.has_unsent) {
    queue.remove(operation);
    operation.has_unsent = false;
  }
  if (operation.outstanding != 0 || operation.has_unsent) {
    return;
  }
  if (!operation.in_place.empty()) {
    queue.endpoint().reclaim(std::exchange(operation.in_place, {}));
  }
  if (operation.status == Status::kOk) {
    end_flight(operation);
  }
  advance(operation);
}

/// Moves past the steps that the flight has done, or makes a Signal the flight
/// of the last of them.
void OperationRunner::end_flight(Operation& operation) {
  const bool owes_signal = sender_.owes_signal(operation);
  if (std::holds_alternative<Chain>(operation.flight)) {
    operation.current = operation.steps.size() - 1;
  } else if (const auto* parts = std::get_if<Parts>(&operation.flight)) {
    operation.current += parts->joined_steps;
  }
  if (owes_signal) {
    operation.flight = Signal{};
  } else {
    operation.flight = Idle{};
    ++operation.current;
  }
}

/// Closes the requests first, and empties the queues then. An operation ends
/// when its last request is closed and it waits in no queue.
void OperationRunner::fail_peer(transport::ProcId proc, Status status) {
  for (const std::uint64_t id : requests_.ids_to(proc)) {
    const Request request = requests_.close(id);
    if (request.operation->status == Status::kOk) {
      request.operation->status = status;
    }
    settle(*request.operation, *request.queue);
  }
  for (PeerQueue* queue : queues_.queues_to(proc)) {
    while (!queue->is_empty()) {
      Operation& operation = queue->front();
      queue->pop_front();
      operation.has_unsent = false;
      operation.status = status;
      settle(operation, *queue);
    }
  }
}

void OperationRunner::forget_peers() {
  queues_.forget_all();
}

}  // namespace acp::gma
