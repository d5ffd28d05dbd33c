// Paths to agents: what waits for room on the way to a rank in a color.
#include <algorithm>

#include "gma/mover.h"
#include "gma/request_bytes.h"

namespace acp::gma {

namespace {

using protocol::Opcode;

std::uint64_t path_key(Rank rank, Color color) {
  return std::uint64_t{rank} << 8 | color;
}

}  // namespace

Mover::Path* Mover::path_to(Rank rank, Color color, Status& status) {
  std::unique_ptr<Path>& path = paths_[path_key(rank, color)];
  if (path == nullptr) {
    const Result<Link> link = links_.link(rank, color);
    if (!link.ok()) {
      paths_.erase(path_key(rank, color));
      status = link.status();
      return nullptr;
    }
    path = std::make_unique<Path>();
    path->link = link.value();
  }
  return path.get();
}

void Mover::forget_paths() {
  ACP_ASSERT(crowded_.empty());
  paths_.clear();
}

Mover::Progress Mover::enqueue(Operation& operation, Rank rank, Color color) {
  Status status = Status::kOk;
  Path* path = path_to(rank, color, status);
  if (path == nullptr) {
    return fail(operation, status);
  }
  return enqueue(operation, *path);
}

Mover::Progress Mover::enqueue(Operation& operation, Path& path) {
  operation.sent_bytes = 0;
  operation.parts_id.reset();
  operation.joined_steps = 0;
  operation.has_unsent = true;
  path.unsent.push_back(&operation);
  if (path.is_crowded) {
    return Progress::kPending;  // somebody is ahead
  }
  path.is_crowded = true;
  crowded_.push_back(&path);
  return Progress::kPending;
}

bool Mover::fits_one_message(const Operation& operation,
                             const Link& link) const {
  std::size_t request = sizeof(protocol::RequestHeader);
  std::size_t reply = sizeof(protocol::ReplyHeader);
  for (const Step& step : operation.steps) {
    const bool is_bulk =
        step.opcode == Opcode::kPut || step.opcode == Opcode::kGet;
    if (is_bulk && step.size > link.max_message) {
      return false;
    }
    request += sizeof(protocol::WireStep) + request_bytes(wire_step(step));
    reply += reply_bytes(wire_step(step));
  }
  return std::max(request, reply) <= link.max_message;
}

/// Whether no step of a chain has to leave this process. Of one that fails,
/// too: it does so where it has to, step by step.
bool Mover::runs_here(const Operation& operation) const {
  // An address that nothing is done at may be any.
  const Rank rank = space_.codec().rank(operation.steps.front().remote);
  if (rank < space_.codec().procs() && space_.slice_of(rank) == nullptr) {
    return false;
  }
  bool is_reachable = true;
  for (const Step& step : operation.steps) {
    const bool is_bulk =
        step.opcode == Opcode::kPut || step.opcode == Opcode::kGet;
    const Result<gmm::Target> remote = space_.locate(
        step.remote, is_bulk ? step.size : std::uint64_t{step.width});
    if (!remote.ok()) {
      return true;
    }
    is_reachable = is_reachable &&
                   (is_bulk ? remote.value().direct != nullptr
                            : is_direct_word(space_, step, remote.value()));
  }
  return is_reachable;
}

/// A chain in one flight, when it has to go by message and fits, or by device.
/// kDone: run it step by step.
Mover::Progress Mover::try_whole(Operation& operation) {
  if (has_step_for_device(operation)) {
    return try_whole_by_device(operation);
  }
  const bool has_copy = std::ranges::any_of(
      operation.steps,
      [](const Step& step) { return step.opcode == Opcode::kCopy; });
  if (has_copy || runs_here(operation)) {
    return Progress::kDone;  // a copy may be from a third rank
  }
  const GlobalAddress first = operation.steps.front().remote;
  Status status = Status::kOk;
  Path* path =
      path_to(space_.codec().rank(first), space_.codec().color(first), status);
  if (path == nullptr || !fits_one_message(operation, path->link)) {
    return Progress::kDone;
  }
  const Status sent =
      path->is_crowded ? Status::kAgain : send_whole(*path, operation);
  operation.is_whole = true;
  if (sent == Status::kAgain) {
    return enqueue(operation, *path);
  }
  return sent == Status::kOk ? Progress::kPending : fail(operation, sent);
}

/// On my own memory the copies are mine, and only the atomics need a flight.
Mover::Progress Mover::try_whole_by_device(Operation& operation) {
  const Rank rank = space_.codec().rank(operation.steps.front().remote);
  const bool has_copy = std::ranges::any_of(
      operation.steps,
      [](const Step& step) { return step.opcode == Opcode::kCopy; });
  if (has_copy || rank == space_.my_rank()) {
    return Progress::kDone;
  }
  operation.is_whole = true;
  return enqueue(operation, rank, 0);
}

bool Mover::pump() {
  while (relay_.has_next()) {
    start(relay_.next_part());
  }
  for (std::size_t i = 0; i < crowded_.size();) {
    Path& path = *crowded_[i];
    pump_path(path);
    if (path.unsent.empty()) {
      path.is_crowded = false;
      crowded_[i] = crowded_.back();
      crowded_.pop_back();
    } else {
      ++i;
    }
  }
  if (long_copies_.empty()) {
    return false;
  }
  turn_.swap(long_copies_);
  for (Operation* operation : turn_) {
    advance(*operation);
  }
  turn_.clear();
  return true;
}

void Mover::pump_path(Path& path) {
  while (!path.unsent.empty()) {
    Operation& operation = *path.unsent.front();
    Status status = Status::kOk;
    while (operation.has_unsent && operation.status == Status::kOk &&
           status == Status::kOk) {
      status = operation.owes_signal ? send_signal(path, operation)
               : operation.is_whole  ? send_whole(path, operation)
                                     : send_next(path, operation);
    }
    if (status == Status::kAgain) {
      return;
    }
    path.unsent.pop_front();
    operation.has_unsent = false;
    if (status == Status::kUnsupported && operation.is_whole) {
      operation.is_whole = false;  // nothing was sent: step by step
      advance(operation);
      continue;
    }
    if (status != Status::kOk) {
      operation.status = status;
    }
    settle(operation, path);
  }
}

}  // namespace acp::gma
