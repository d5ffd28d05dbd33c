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
  operation.sent_bytes = 0;
  operation.parts_id.reset();
  operation.joined_steps = 0;
  operation.has_unsent = true;
  path->unsent.push_back(&operation);
  if (path->is_crowded) {
    return Progress::kPending;  // somebody is ahead
  }
  path->is_crowded = true;
  crowded_.push_back(path);
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

/// A chain in one flight, when it has to go by message and fits, or by device.
/// kDone: run it step by step.
Mover::Progress Mover::try_whole(Operation& operation) {
  if (has_step_for_device(operation)) {
    return try_whole_by_device(operation);
  }
  bool is_reachable = true;
  for (const Step& step : operation.steps) {
    if (step.opcode == Opcode::kCopy) {
      return Progress::kDone;  // from a third rank: no request of this path
    }
    const bool is_bulk =
        step.opcode == Opcode::kPut || step.opcode == Opcode::kGet;
    const Result<gmm::Target> remote = space_.locate(
        step.remote, is_bulk ? step.size : std::uint64_t{step.width});
    if (!remote.ok()) {
      return Progress::kDone;  // fails where it has to, step by step
    }
    is_reachable = is_reachable &&
                   (is_bulk ? remote.value().direct != nullptr
                            : is_direct_word(space_, step, remote.value()));
  }
  if (is_reachable) {
    return Progress::kDone;
  }
  const GlobalAddress first = operation.steps.front().remote;
  Status status = Status::kOk;
  Path* path =
      path_to(space_.codec().rank(first), space_.codec().color(first), status);
  if (path == nullptr || !fits_one_message(operation, path->link)) {
    return Progress::kDone;
  }
  operation.is_whole = true;
  return enqueue(operation, space_.codec().rank(first),
                 space_.codec().color(first));
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
  turn_.swap(long_copies_);
  for (Operation* operation : turn_) {
    advance(*operation);
  }
  const bool has_copied = !turn_.empty();
  turn_.clear();
  return has_copied;
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
