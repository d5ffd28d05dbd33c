// The life of operations: from step to step, through queues, replies and lost
// peers, to their end. The engine starts operations and calls pump(); the
// runtime hands in replies, completions and lost peers. operation_start.cc
// chooses the way of each step. Nothing here blocks, and nothing here looks at
// the order of operations.
#include "gma/operation_runner.h"

#include <utility>

#include "base/little_endian.h"
#include "base/log.h"
#include "gma/describe.h"
#include "gma/reply_results.h"

namespace acp::gma {

namespace {

/// The end of the current copy that is on the peer of its flight. A copy in the
/// form of a put goes to the owner of the destination. A get, and a delegated
/// copy, go to that of the source.
CopyEnd end_at_peer(const Operation& operation) {
  if (operation.current >= operation.steps.size() ||
      operation.steps[operation.current].opcode != protocol::Opcode::kCopy) {
    return CopyEnd::kUnknown;
  }
  if (std::holds_alternative<Parts>(operation.flight)) {
    return CopyEnd::kDestination;
  }
  const auto* pieces = std::get_if<Pieces>(&operation.flight);
  if (pieces == nullptr) {
    return CopyEnd::kUnknown;
  }
  return pieces->step.opcode == protocol::Opcode::kPut ? CopyEnd::kDestination
                                                       : CopyEnd::kSource;
}

/// The end at which a copy has failed, by the reply of its peer.
CopyEnd failed_end_in(const Operation& operation,
                      const protocol::ReplyHeader& reply) {
  const auto* pieces = std::get_if<Pieces>(&operation.flight);
  const bool is_delegated =
      pieces != nullptr && pieces->step.opcode == protocol::Opcode::kCopy;
  return is_delegated && reply.failed_step == protocol::kDestinationFailed
             ? CopyEnd::kDestination
             : end_at_peer(operation);
}

/// A peer is lost, or its endpoint cannot be used. The first failure stays.
void fail_at_peer(Operation& operation, Status status) {
  if (operation.status == Status::kOk) {
    operation.status = status;
    operation.failed_end = end_at_peer(operation);
  }
}

}  // namespace

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

void OperationRunner::start(Operation& operation, EndChecks checks) {
  if (operation.steps.size() > 1 &&
      start_chain(operation) == Progress::kPending) {
    return;
  }
  advance(operation, checks);
}

/// Runs steps until one is under way, one fails, or all are done.
void OperationRunner::advance(Operation& operation, EndChecks checks) {
  while (operation.current < operation.steps.size() &&
         operation.status == Status::kOk) {
    switch (run_step(operation, operation.steps[operation.current], checks)) {
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
              status_text(operation.status), describe_cause(operation, space_));
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
    if (status == Status::kPeerDead) {
      fail_at_peer(operation, status);
    } else if (status != Status::kOk) {
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
  close_request(*reply);
}

/// Each id is as good as a reply of its own without results. A request that
/// waits for results fails by it.
void OperationRunner::on_shared_reply(std::span<const std::byte> bytes) {
  const auto ids = protocol::decode_shared_reply(bytes);
  if (!ids) {
    log(LogLevel::kDebug, "malformed shared reply of {} bytes", bytes.size());
    return;
  }
  protocol::ReplyView reply;
  for (std::size_t at = 0; at < ids->size(); at += sizeof reply.header.id) {
    reply.header.id = load_little<std::uint64_t>(ids->data() + at);
    if (requests_.find(reply.header.id, AnsweredBy::kReply) != nullptr) {
      close_request(reply);
    }
  }
}

/// Precondition: the reply's id names an open request.
void OperationRunner::close_request(const protocol::ReplyView& reply) {
  const Request request = requests_.close(reply.header.id);
  Operation& operation = *request.operation;
  const bool is_plain_success =
      request.reply_bytes == 0 && reply.header.status == Status::kOk;
  const Status status = is_plain_success
                            ? Status::kOk
                            : store_results(space_, request, reply, operation);
  if (operation.status == Status::kOk && status != Status::kOk) {
    operation.status = status;
    if (reply.header.status != Status::kOk) {
      operation.failed_end = failed_end_in(operation, reply.header);
    }
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
  if (const auto* chain = std::get_if<Chain>(&operation.flight)) {
    operation.current += chain->steps - 1;
  } else if (const auto* parts = std::get_if<Parts>(&operation.flight)) {
    operation.current += parts->puts - 1 + parts->joined_steps;
  } else if (const auto* pieces = std::get_if<Pieces>(&operation.flight)) {
    operation.current += pieces->joined_steps;
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
    fail_at_peer(*request.operation, status);
    settle(*request.operation, *request.queue);
  }
  for (PeerQueue* queue : queues_.queues_to(proc)) {
    while (!queue->is_empty()) {
      Operation& operation = queue->front();
      queue->pop_front();
      operation.has_unsent = false;
      fail_at_peer(operation, status);
      settle(operation, *queue);
    }
  }
}

void OperationRunner::forget_peers() {
  queues_.forget_all();
}

}  // namespace acp::gma
