// Requests to agents: paths, pieces, replies.
#include <algorithm>
#include <array>
#include <utility>

#include "base/log.h"
#include "gma/mover.h"
#include "gma/request_bytes.h"
#include "gmm/memory_ops.h"

namespace acp::gma {

namespace {

using protocol::Opcode;

/// What replies to one path may bring at a time; see docs/engine.md.
constexpr std::uint64_t kMaxReplyBytes = 1 << 20;

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

std::optional<std::uint64_t> Mover::open_request(Path& path,
                                                 Operation& operation,
                                                 GlobalAddress local,
                                                 std::uint64_t size,
                                                 std::uint64_t reply_bytes) {
  // One reply may always be under way, however large.
  if (path.reply_bytes != 0 &&
      path.reply_bytes + reply_bytes > kMaxReplyBytes) {
    return std::nullopt;
  }
  if (free_requests_.empty()) {
    free_requests_.push_back(static_cast<std::uint32_t>(requests_.size()));
    requests_.emplace_back();
  }
  const std::uint32_t index = free_requests_.back();
  free_requests_.pop_back();
  Request& request = requests_[index];
  request.operation = &operation;
  request.path = &path;
  request.local = local;
  request.size = size;
  request.reply_bytes = reply_bytes;
  request.is_posted = false;
  request.is_in_parts = false;
  path.reply_bytes += reply_bytes;
  ++operation.outstanding;
  return std::uint64_t{request.generation} << 32 | index;
}

void Mover::close_request(std::uint64_t id) {
  const auto index = static_cast<std::uint32_t>(id);
  Request& request = requests_[index];
  request.path->reply_bytes -= request.reply_bytes;
  --request.operation->outstanding;
  request.operation = nullptr;
  ++request.generation;
  free_requests_.push_back(index);
}

/// A message whose last part is data of the operation's source, if any, which
/// nobody may read after the operation's end.
Status Mover::send_data(Path& path,
                        Operation& operation,
                        std::span<const std::span<const std::byte>> parts,
                        transport::Ordering ordering) {
  const std::span<const std::byte> data = parts.back();
  if (operation.in_place.empty()) {
    operation.in_place = data;
  } else if (!data.empty()) {  // the next piece of the same source
    operation.in_place = {operation.in_place.data(), data.data() + data.size()};
  }
  return path.link.endpoint->send_in_place(parts, ordering);
}

/// The next piece of the step under way. kAgain: no room now.
Status Mover::send_next(Path& path, Operation& operation) {
  if (path.link.max_posted != 0) {
    const Status status = post_next(path, operation);
    if (status != Status::kUnsupported) {
      return status;
    }
  }
  const Opcode opcode = operation.piece_opcode;
  if (needs_parts(path, operation)) {
    return send_part(path, operation);
  }
  const Step& step = operation.steps[operation.current];
  const std::uint64_t offset = operation.sent_bytes;
  std::uint64_t size = operation.piece_bytes;
  protocol::WireStep wire = wire_step(step);
  wire.opcode = opcode;
  wire.size = 0;
  wire.remote = operation.piece_remote + offset;
  std::uint64_t in_reply = protocol::reply_bytes(wire);
  std::span<const std::byte> data;
  if (opcode == Opcode::kPut || opcode == Opcode::kGet) {
    size = std::min(operation.piece_bytes - offset,
                    piece_size(operation.piece_bytes,
                               path.link.max_message - kRequestHead));
    wire.size = static_cast<std::uint32_t>(size);
    in_reply = protocol::reply_bytes(wire);
  }
  if (opcode == Opcode::kPut) {
    const std::byte* from = space_.direct(operation.piece_local + offset, size);
    if (from == nullptr) {
      return Status::kBadKey;  // unregistered while the copy was under way
    }
    data = {from, size};
  } else if (opcode == Opcode::kCopy) {
    wire.operand = operation.piece_local;
    wire.compare = operation.piece_bytes;
  }
  const GlobalAddress local =
      opcode == Opcode::kGet        ? operation.piece_local + offset
      : protocol::is_atomic(opcode) ? operation.piece_local
                                    : 0;
  const auto id = open_request(path, operation, local, size, in_reply);
  if (!id) {
    return Status::kAgain;
  }
  protocol::RequestHeader header;
  header.steps = 1;
  header.data_bytes = static_cast<std::uint32_t>(data.size());
  header.id = *id;
  const std::array<std::span<const std::byte>, 3> parts = {
      bytes_of(header), bytes_of(wire), data};
  const Status status =
      send_data(path, operation, parts, transport::Ordering::kFree);
  if (status != Status::kOk) {
    close_request(*id);
    return status;
  }
  operation.sent_bytes += size;
  operation.has_unsent = operation.sent_bytes < operation.piece_bytes &&
                         (opcode == Opcode::kPut || opcode == Opcode::kGet);
  return Status::kOk;
}

/// All steps of a chain in one request. kUnsupported: not in one, since a
/// device has to do some.
Status Mover::send_whole(Path& path, Operation& operation) {
  if (path.link.max_posted != 0) {
    const Status status = post_whole(path, operation);
    if (status != Status::kUnsupported || has_step_for_device(operation)) {
      return status;
    }
  }
  std::array<protocol::WireStep, protocol::kMaxSteps> steps;
  std::array<std::span<const std::byte>, protocol::kMaxSteps + 2> parts;
  std::size_t count = 2;
  std::size_t data_bytes = 0;
  std::uint64_t in_reply = 0;
  for (std::size_t i = 0; i < operation.steps.size(); ++i) {
    const Step& step = operation.steps[i];
    steps[i] = wire_step(step);
    in_reply += protocol::reply_bytes(steps[i]);
    if (step.opcode == Opcode::kPut && step.size > 0) {
      const std::byte* from = space_.direct(step.local, step.size);
      if (from == nullptr) {
        operation.current = i;
        return Status::kBadKey;
      }
      parts[count++] = {from, step.size};
      data_bytes += step.size;
    }
  }
  const auto id = open_request(path, operation, 0, 0, in_reply);
  if (!id) {
    return Status::kAgain;
  }
  protocol::RequestHeader header;
  header.steps = static_cast<std::uint8_t>(operation.steps.size());
  header.data_bytes = static_cast<std::uint32_t>(data_bytes);
  header.id = *id;
  parts[0] = bytes_of(header);
  parts[1] = std::as_bytes(std::span(steps).first(operation.steps.size()));
  const auto message = std::span(parts).first(count);
  const Status status =
      data_bytes > 0
          ? send_data(path, operation, message, transport::Ordering::kFree)
          : path.link.endpoint->send(message, transport::Ordering::kFree);
  if (status != Status::kOk) {
    close_request(*id);
    return status;
  }
  operation.has_unsent = false;
  return Status::kOk;
}

/// Null when there is no such request under way.
Mover::Request* Mover::request_of(std::uint64_t id, bool is_posted) {
  const auto index = static_cast<std::uint32_t>(id);
  if (index >= requests_.size()) {
    return nullptr;
  }
  Request& request = requests_[index];
  const bool is_it = request.operation != nullptr &&
                     request.generation == id >> 32 &&
                     request.is_posted == is_posted;
  return is_it ? &request : nullptr;
}

void Mover::on_reply(std::span<const std::byte> bytes) {
  const auto reply = protocol::decode_reply(bytes);
  const Request* found = reply ? request_of(reply->header.id, false) : nullptr;
  if (found == nullptr) {
    log(LogLevel::kDebug, "reply of {} bytes to no request", bytes.size());
    return;
  }
  const Request request = *found;
  Operation& operation = *request.operation;
  Path& path = *request.path;
  close_request(reply->header.id);
  place(request, *reply, operation);
  settle(operation, path);
}

/// Copies results to where the caller wanted them and takes over the status.
void Mover::place(const Request& request,
                  const protocol::ReplyView& reply,
                  Operation& operation) {
  std::span<const std::byte> data = reply.data;
  const auto put = [&](GlobalAddress local, std::uint64_t size, bool is_get) {
    const std::uint64_t carried = is_get ? size : 8;
    if (data.size() < carried) {
      return false;
    }
    if (local != 0) {
      std::byte* to = space_.direct(local, size);
      if (to == nullptr) {
        return false;
      }
      if (is_get) {
        gmm::copy_bytes(to, data.data(), size);
      } else {
        std::uint64_t old = 0;
        std::memcpy(&old, data.data(), sizeof old);
        gmm::store_word(to, size, old);
      }
    }
    data = data.subspan(carried);
    return true;
  };
  bool is_good = true;
  if (operation.is_whole || request.is_in_parts) {
    const std::size_t first = operation.current;
    const std::size_t count = operation.is_whole ? operation.steps.size()
                                                 : 1 + operation.joined_steps;
    const bool is_done = reply.header.status == Status::kOk;
    const std::size_t done =
        is_done ? count
                : std::min<std::size_t>(reply.header.failed_step, count - 1);
    std::size_t i = 0;
    for (; is_good && i < done; ++i) {
      const Step& step = operation.steps[first + i];
      const bool is_get = step.opcode == Opcode::kGet;
      if (is_get || protocol::is_atomic(step.opcode)) {
        is_good = put(step.local, is_get ? step.size : step.width, is_get);
      }
    }
    if (!is_done || !is_good) {
      operation.current += is_good ? done : i - 1;  // which one failed
    }
  } else if (reply.header.status == Status::kOk &&
             (operation.piece_opcode == Opcode::kGet ||
              protocol::is_atomic(operation.piece_opcode))) {
    is_good = put(request.local, request.size,
                  operation.piece_opcode == Opcode::kGet);
  }
  if (operation.status == Status::kOk) {
    operation.status = reply.header.status;
    if (operation.status == Status::kOk && !is_good) {
      operation.status = Status::kBadKey;
    }
  }
}

/// After a reply or a failed send: goes on when nothing is under way.
void Mover::settle(Operation& operation, Path& path) {
  if (operation.status != Status::kOk && operation.has_unsent) {
    std::erase(path.unsent, &operation);
    operation.has_unsent = false;
  }
  if (operation.outstanding != 0 || operation.has_unsent) {
    return;
  }
  if (!operation.in_place.empty()) {
    path.link.endpoint->reclaim(std::exchange(operation.in_place, {}));
  }
  if (operation.status == Status::kOk) {
    operation.owes_signal = has_signal_to_send(operation);
    operation.current = operation.is_whole
                            ? operation.steps.size() - 1
                            : operation.current + operation.joined_steps;
    operation.is_whole = false;
    operation.current += operation.owes_signal ? 0 : 1;
  }
  advance(operation);
}

void Mover::fail_peer(transport::ProcId proc, Status status) {
  for (std::size_t index = 0; index < requests_.size(); ++index) {
    Request& request = requests_[index];
    if (request.operation == nullptr || request.path->link.proc != proc) {
      continue;
    }
    Operation& operation = *request.operation;
    Path& path = *request.path;
    close_request(std::uint64_t{request.generation} << 32 | index);
    if (operation.status == Status::kOk) {
      operation.status = status;
    }
    settle(operation, path);
  }
  std::vector<Path*> paths;
  for (auto& [key, path] : paths_) {
    if (path->link.proc == proc) {
      paths.push_back(path.get());
    }
  }
  for (Path* path : paths) {
    while (!path->unsent.empty()) {
      Operation& operation = *path->unsent.front();
      path->unsent.pop_front();
      operation.has_unsent = false;
      operation.status = status;
      settle(operation, *path);
    }
  }
}

}  // namespace acp::gma
