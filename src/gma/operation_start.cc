// The start of a step or of a whole chain: chooses the way, checks the ends if
// that is due, and makes the flight. Part of OperationRunner, whose advance()
// calls it. Nothing here takes an answer; what needs an endpoint waits in its
// queue.
#include <algorithm>

#include "gma/operation_runner.h"
#include "gma/word_step.h"

namespace acp::gma {

/// Chooses the way from the addresses alone. The function that goes the way
/// checks them, or looks them up where it loads or stores. A put or a get of a
/// chain has its own end on this rank: chain.cc checks that.
OperationRunner::Progress OperationRunner::run_step(Operation& operation,
                                                    const Step& step,
                                                    EndChecks checks) {
  if (std::holds_alternative<Signal>(operation.flight)) {
    return run_signal(operation, space_.codec().rank(step.remote));
  }
  if (bytes_at_remote(step) == 0) {
    return Progress::kDone;
  }
  const Way way = route(space_, step);
  if (is_word(step.opcode)) {
    return way == Way::kLocal ? do_word(operation, step)
                              : send_word(operation, step, checks);
  }
  return LocalCopier::does(way) ? copy_portion(operation, as_copy(step), way)
                                : send_copy(operation, step, way, checks);
}

/// Counts the puts that are the current step of a chain and the next ones, if
/// they go by request. At least 1: the current step may also be a copy. A chain
/// of puts has one rank and color (chain.cc). Empty puts at the end do not
/// count, because the last part says the index of its put, and the agent
/// numbers the words behind that put from there.
std::size_t OperationRunner::puts_in_turn(const Operation& operation) const {
  const auto is_put = [this](const Step& step) {
    return step.opcode == protocol::Opcode::kPut &&
           (step.size == 0 || route(space_, step) == Way::kPut);
  };
  const auto rest = std::span(operation.steps).subspan(operation.current);
  auto puts = static_cast<std::size_t>(std::ranges::find_if_not(rest, is_put) -
                                       rest.begin());
  while (puts > 1 && rest[puts - 1].size == 0) {
    --puts;
  }
  return std::max<std::size_t>(puts, 1);
}

/// Sends a put or a get to the agent or the endpoint of its rank, in pieces or
/// as one request in parts. Puts that follow in the chain join it.
OperationRunner::Progress OperationRunner::send_bulk(Operation& operation,
                                                     const Step& bulk) {
  const auto& codec = space_.codec();
  const Result<PeerQueue*> queue =
      queues_.queue_to(codec.rank(bulk.remote), codec.color(bulk.remote));
  if (!queue.ok()) {
    return fail(operation, queue.status());
  }
  const PeerEndpoint& to = queue.value()->to();
  const bool is_put =
      bulk.opcode == protocol::Opcode::kPut && to.max_posted == 0;
  const std::size_t puts = is_put ? puts_in_turn(operation) : 1;
  if (is_put && (puts > 1 || FlightSender::needs_parts(bulk.size, to))) {
    operation.flight =
        Parts{.put = bulk, .puts = puts, .request_id = std::nullopt};
  } else {
    operation.flight = Pieces{bulk};
  }
  return send_or_queue(operation, *queue.value());
}

/// Sends the first message in this call, unless other operations wait for the
/// endpoint. The rest goes by way of the queue. Posts of a single step wait for
/// pump(), because an endpoint that posts may be in its poll now. kDone: all is
/// sent, and no answer is owed.
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

/// Copies a portion here if that is possible, and sends the rest otherwise.
/// Between portions the mutex is free, so each portion looks up its ends again
/// (invariant 8).
OperationRunner::Progress OperationRunner::copy_portion(Operation& operation,
                                                        const Step& copy,
                                                        Way way) {
  const Result<gmm::Target> to = space_.locate(copy.remote, copy.size);
  const Result<gmm::Target> from = space_.locate(copy.local, copy.size);
  if (!to.ok() || !from.ok()) {
    operation.failed_end = to.ok() ? CopyEnd::kSource : CopyEnd::kDestination;
    return fail(operation, to.ok() ? from.status() : to.status());
  }
  const auto* portions = std::get_if<Portions>(&operation.flight);
  const std::uint64_t copied = portions != nullptr ? portions->copied_bytes : 0;
  const LocalCopier::Plan plan =
      LocalCopier::plan(copy.size, copied, to.value(), from.value());
  const Step portion = piece_of(copy, plan.portion_offset, plan.portion_bytes);
  const Status status =
      copier_.copy(way, portion, advanced(to.value(), plan.portion_offset),
                   advanced(from.value(), plan.portion_offset));
  if (status == Status::kUnsupported) {
    return send_copy(
        operation, piece_of(copy, plan.rest_offset, plan.rest_bytes),
        route(space_, copy, CrossCopies::kRefused), EndChecks::kDone);
  }
  if (status != Status::kOk) {
    return fail(operation, status);
  }
  if (portion.size == plan.rest_bytes) {
    return Progress::kDone;
  }
  operation.flight = Portions{copied + portion.size};
  long_copies_.push_back(&operation);
  return Progress::kPending;
}

/// The put, the get or the word that an endpoint could do for an operation of
/// one step, whose ends the call has checked. Nothing if the step is empty or
/// another way leads there. Returns nothing for a step with a signal: a message
/// has to follow its post, because no device wakes a reader.
std::optional<Step> OperationRunner::postable_form(const Step& step) const {
  if (bytes_at_remote(step) == 0 || has_signal(step)) {
    return std::nullopt;
  }
  switch (route(space_, step)) {
    case Way::kOwner: return step;
    case Way::kPut: return as_put(step);
    case Way::kGet: return as_get(as_copy(step));
    default: return std::nullopt;
  }
}

/// All checks come before the operation is changed, because a refused operation
/// waits for its turn.
bool OperationRunner::post_behind(Operation& operation, PeerQueue& queue) {
  if (operation.steps.size() != 1 || queue.is_listed()) {
    return false;
  }
  const std::optional<Step> step = postable_form(operation.steps.front());
  if (!step || bytes_at_remote(*step) > queue.to().max_posted) {
    return false;
  }
  if (ordered_queue_to(*step) != &queue) {
    return false;
  }
  operation.flight = Pieces{.step = *step};
  if (sender_.post_behind(queue, operation) == Status::kOk) {
    return true;
  }
  operation.flight = Idle{};
  return false;
}

/// Returns null for an operation of which a piece or joined words went as a
/// message, because its agent may refuse these. Also null for one with a
/// signal, which has its own message behind the post.
PeerQueue* OperationRunner::queue_of_posted(const Operation& operation) {
  const auto* pieces = std::get_if<Pieces>(&operation.flight);
  if (pieces == nullptr || operation.steps.size() != 1 ||
      operation.has_unsent || pieces->has_messages ||
      pieces->step.opcode == protocol::Opcode::kCopy ||
      has_signal(pieces->step)) {
    return nullptr;
  }
  return ordered_queue_to(pieces->step);
}

/// The queue to the executor of a step; null unless its endpoint keeps the
/// order of posts. Not inline, so that queue_of_posted() saves no registers for
/// the many operations that went as messages.
[[gnu::noinline]] PeerQueue* OperationRunner::ordered_queue_to(
    const Step& step) {
  const Result<PeerQueue*> queue = queues_.queue_to(
      space_.codec().rank(step.remote), sender_.color_of(step));
  return queue.ok() && queue.value()->to().orders_posts ? queue.value()
                                                        : nullptr;
}

/// Makes the flight of a copy, put or get that this process does not do by
/// itself, and queues it. Both ends are checked before any effect.
OperationRunner::Progress OperationRunner::send_copy(Operation& operation,
                                                     const Step& rest,
                                                     Way way,
                                                     EndChecks checks) {
  if (checks == EndChecks::kDue) {
    Status status = space_.check(rest.remote, rest.size);
    if (status == Status::kOk) {
      status = space_.check(rest.local, rest.size);
    }
    if (status != Status::kOk) {
      return fail(operation, status);
    }
  }
  if (way == Way::kPut) {
    return send_bulk(operation, as_put(rest));
  }
  if (way == Way::kGet) {
    return send_bulk(operation, as_get(as_copy(rest)));
  }
  if (is_relayable(rest)) {
    operation.flight = Relayed{rest};
    relay_.add(operation);
    return Progress::kPending;
  }
  const auto& codec = space_.codec();
  operation.flight = Pieces{rest};
  return enqueue(operation, codec.rank(rest.local), codec.color(rest.local));
}

/// A copy between other ranks is relayed when its ends are on two ranks and
/// endpoints reach the memory of both. Ends on one rank may overlap, so the
/// agent of that rank copies. Ends on two ranks of this host come here when
/// cross-memory copies are refused, which the relay would need.
bool OperationRunner::is_relayable(const Step& copy) {
  const auto& codec = space_.codec();
  return codec.rank(copy.remote) != codec.rank(copy.local) &&
         (end_of(space_, copy.remote) == End::kFar ||
          end_of(space_, copy.local) == End::kFar) &&
         reaches(copy.remote) && reaches(copy.local);
}

bool OperationRunner::reaches(GlobalAddress ga) {
  const auto& codec = space_.codec();
  const Result<PeerEndpoint> found =
      endpoints_.endpoint_of(codec.rank(ga), codec.color(ga));
  return found.ok() &&
         (end_of(space_, ga) == End::kHost || found.value().max_posted != 0);
}

/// Executes a word here. Both ends are looked up before any effect.
OperationRunner::Progress OperationRunner::do_word(Operation& operation,
                                                   const Step& step) {
  const Result<gmm::Target> word = space_.locate(step.remote, step.width);
  Status status = word.status();
  if (status == Status::kOk && step.local != 0) {
    status = space_.check_own(step.local, step.width);
  }
  if (status != Status::kOk) {
    return fail(operation, status);
  }
  run_word(space_, waker_, step, word.value().direct);
  return Progress::kDone;
}

/// Sends a word to its owner. Both ends are checked before any effect.
OperationRunner::Progress OperationRunner::send_word(Operation& operation,
                                                     const Step& step,
                                                     EndChecks checks) {
  if (checks == EndChecks::kDue) {
    Status status = space_.check(step.remote, step.width);
    if (status == Status::kOk && step.local != 0) {
      status = space_.check_own(step.local, step.width);
    }
    if (status != Status::kOk) {
      return fail(operation, status);
    }
  }
  operation.flight = Pieces{step};
  return enqueue(operation, space_.codec().rank(step.remote),
                 sender_.color_of(step));
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

/// Whether no step of a chain has to leave this process. A step of no bytes may
/// have any address; it leaves if that names a far rank.
bool OperationRunner::runs_here(const Operation& operation) const {
  return std::ranges::all_of(operation.steps, [this](const Step& step) {
    return bytes_at_remote(step) == 0 ? !space_.is_far(step.remote)
                                      : route(space_, step) == Way::kLocal;
  });
}

/// Sends a chain in one flight if a step has to leave this process and the
/// chain fits one message or can be posted. It leaves at once if no other
/// operation waits for the peer. No chain starts within a poll, since delegated
/// and internal operations have one step: it may be posted here. kDone: the
/// chain runs step by step.
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
    operation.flight = Chain{operation.steps.size()};
    return enqueue(operation, rank, 0);
  }
  if (runs_here(operation)) {
    return Progress::kDone;
  }
  const Result<PeerQueue*> found =
      queues_.queue_to(rank, space_.codec().color(first));
  if (!found.ok() ||
      (found.value()->to().max_posted == 0 &&
       !FlightSender::fits_one_message(operation, found.value()->to()))) {
    return Progress::kDone;
  }
  PeerQueue& queue = *found.value();
  operation.flight = Chain{operation.steps.size()};
  const Status status =
      queue.is_listed() ? Status::kAgain : sender_.send(queue, operation);
  if (status == Status::kAgain) {
    queues_.add(operation, queue);
    return Progress::kPending;
  }
  if (status == Status::kUnsupported) {
    operation.flight = Idle{};
    return Progress::kDone;
  }
  return status == Status::kOk ? Progress::kPending : fail(operation, status);
}

}  // namespace acp::gma
