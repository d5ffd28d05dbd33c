// Steps that a wire does in a peer's memory without the peer. A posted chain is
// a request whose reply the wire makes.
#include <algorithm>
#include <array>

#include "gma/mover.h"

namespace acp::gma {

static_assert(transport::kOffsetAlignment == gmm::kBaseAlignment);

namespace {

using protocol::Opcode;

bool is_bulk(Opcode opcode) noexcept {
  return opcode == Opcode::kPut || opcode == Opcode::kGet;
}

}  // namespace

/// Whether the owner's device has to do the step, which no agent may then do.
bool Mover::is_for_device(const Step& step) const {
  return space_.has_device_atomics() && protocol::is_atomic(step.opcode) &&
         step.width == 8;
}

bool Mover::has_step_for_device(const Operation& operation) const {
  return space_.has_device_atomics() &&
         std::ranges::any_of(operation.steps, [this](const Step& step) {
           return is_for_device(step);
         });
}

/// The way to who does the step: devices of one rank are not atomic with each
/// other, so it is always the first.
Color Mover::color_of(const Step& step) const {
  return is_for_device(step) ? 0 : space_.codec().color(step.remote);
}

/// Devices ring nobody: whether a message has to, after what is just done.
bool Mover::has_signal_to_send(const Operation& operation) const {
  const auto is_signal = [this](const Step& step) {
    return (step.flags & protocol::kSignalFlag) != 0 && is_for_device(step);
  };
  if (operation.owes_signal) {
    return false;  // that was it
  }
  return operation.is_whole ? std::ranges::any_of(operation.steps, is_signal)
                            : is_signal(operation.steps[operation.current]);
}

/// Wakes who waits at the target, and nothing else.
Status Mover::send_signal(Path& path, Operation& operation) {
  const auto id = open_request(path, operation, 0, 0, 0);
  if (!id) {
    return Status::kAgain;
  }
  protocol::RequestHeader header;
  header.steps = 1;
  header.id = *id;
  protocol::WireStep wire;
  wire.opcode = Opcode::kPut;
  wire.flags = protocol::kSignalFlag;
  wire.remote = operation.steps[operation.current].remote;
  const std::array<std::span<const std::byte>, 2> parts = {
      std::as_bytes(std::span(&header, 1)), std::as_bytes(std::span(&wire, 1))};
  const Status status =
      path.link.endpoint->send(parts, transport::Ordering::kFree);
  if (status != Status::kOk) {
    close_request(*id);
  }
  operation.has_unsent = status != Status::kOk;
  return status;
}

/// kBadKey: my own end was unregistered while the operation was under way.
Status Mover::remote_step(const Step& step,
                          transport::RemoteStep& remote) const {
  const auto& codec = space_.codec();
  remote.opcode = step.opcode;
  remote.width = step.width;
  remote.flags = is_for_device(step) ? 0 : step.flags;  // rung when it is done
  remote.key = codec.index(step.remote);
  remote.state = codec.state_bits(step.remote);
  remote.state_mask = codec.state_mask();
  remote.offset = codec.offset(step.remote);
  remote.size = is_bulk(step.opcode) ? step.size : 0;
  remote.operand = step.operand;
  remote.compare = step.compare;
  if (step.local != 0) {
    remote.local = space_.direct(step.local,
                                 is_bulk(step.opcode) ? step.size : step.width);
    remote.local_key = codec.index(step.local);
    if (remote.local == nullptr) {
      return Status::kBadKey;
    }
  }
  return Status::kOk;
}

/// kUnsupported: by message. kAgain: no room now.
Status Mover::post(Path& path,
                   Operation& operation,
                   std::span<const transport::RemoteStep> steps) {
  const auto id = open_request(path, operation, 0, 0, 0);
  if (!id) {
    return Status::kAgain;
  }
  request_of(*id, false)->is_posted = true;
  const Status status = path.link.endpoint->post(steps, *id);
  if (status != Status::kOk) {
    close_request(*id);
  }
  return status;
}

/// The next piece of the step under way.
Status Mover::post_next(Path& path, Operation& operation) {
  if (operation.piece_opcode == Opcode::kCopy) {
    return Status::kUnsupported;  // the source's rank does it
  }
  const std::uint64_t offset = operation.sent_bytes;
  Step piece = operation.steps[operation.current];
  piece.opcode = operation.piece_opcode;
  piece.remote = operation.piece_remote + offset;
  piece.local = operation.piece_local == 0 ? 0 : operation.piece_local + offset;
  std::uint64_t size = operation.piece_bytes;
  if (is_bulk(piece.opcode)) {
    size = std::min<std::uint64_t>(operation.piece_bytes - offset,
                                   path.link.max_posted);
    piece.size = size;
  }
  transport::RemoteStep remote;
  Status status = remote_step(piece, remote);
  status = status == Status::kOk ? post(path, operation, {&remote, 1}) : status;
  if (status == Status::kOk) {
    operation.sent_bytes += size;
    operation.has_unsent =
        is_bulk(piece.opcode) && operation.sent_bytes < operation.piece_bytes;
  }
  return status;
}

/// All steps of a chain.
Status Mover::post_whole(Path& path, Operation& operation) {
  std::array<transport::RemoteStep, protocol::kMaxSteps> steps;
  std::size_t count = 0;
  for (std::size_t i = 0; i < operation.steps.size(); ++i) {
    const Step& step = operation.steps[i];
    if (is_bulk(step.opcode) && step.size == 0) {
      continue;
    }
    if (is_bulk(step.opcode) && step.size > path.link.max_posted) {
      return Status::kUnsupported;
    }
    const Status status = remote_step(step, steps[count++]);
    if (status != Status::kOk) {
      operation.current = i;
      return status;
    }
  }
  if (count == 0) {
    return Status::kUnsupported;
  }
  const Status status = post(path, operation, std::span(steps).first(count));
  operation.has_unsent = status != Status::kOk;
  return status;
}

void Mover::on_posted_done(std::uint64_t id) {
  const Request* request = request_of(id, true);
  if (request == nullptr) {
    return;  // its peer has failed meanwhile, and the operation with it
  }
  Operation& operation = *request->operation;
  Path& path = *request->path;
  close_request(id);
  settle(operation, path);
}

}  // namespace acp::gma
