// Requests to agents: pieces of steps, and chains in one message.
#include <algorithm>
#include <array>

#include "base/inline_vector.h"
#include "gma/mover.h"
#include "gma/request_bytes.h"
#include "gmm/touch.h"

namespace acp::gma {

namespace {

using protocol::Opcode;

/// What replies to one path may bring at a time; see docs/engine.md.
constexpr std::uint64_t kMaxReplyBytes = 1 << 20;

}  // namespace

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

/// Bytes of mine that are about to be sent. kBadKey: unregistered while the
/// operation was under way. kBadAddress: unmapped, but still registered; the
/// operation may be a peer's that this rank carries out.
Result<const std::byte*> Mover::source_at(GlobalAddress local,
                                          std::uint64_t size) const {
  std::byte* from = space_.direct(local, size);
  if (from == nullptr) {
    return Status::kBadKey;
  }
  return gmm::can_touch(space_, local, from, size, gmm::Access::kRead)
             ? Result<const std::byte*>(from)
             : Status::kBadAddress;
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
    const auto from = source_at(operation.piece_local + offset, size);
    if (!from.ok()) {
      return from.status();
    }
    data = {from.value(), size};
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
  protocol::RequestHeader header;
  InlineVector<protocol::WireStep, protocol::kMaxSteps> steps;
  InlineVector<std::span<const std::byte>, protocol::kMaxSteps + 2> parts;
  parts.push_back(bytes_of(header));
  parts.push_back({});
  std::uint64_t in_reply = 0;
  for (std::size_t i = 0; i < operation.steps.size(); ++i) {
    const Step& step = operation.steps[i];
    in_reply += protocol::reply_bytes(steps.push_back(wire_step(step)));
    if (step.opcode == Opcode::kPut && step.size > 0) {
      const auto from = source_at(step.local, step.size);
      if (!from.ok()) {
        operation.current = i;
        return from.status();
      }
      parts.push_back({from.value(), step.size});
      header.data_bytes += static_cast<std::uint32_t>(step.size);
    }
  }
  parts[1] = std::as_bytes(std::span(steps));
  const auto id = open_request(path, operation, 0, 0, in_reply);
  if (!id) {
    return Status::kAgain;
  }
  header.steps = static_cast<std::uint8_t>(steps.size());
  header.id = *id;
  const Status status =
      header.data_bytes > 0
          ? send_data(path, operation, parts, transport::Ordering::kFree)
          : path.link.endpoint->send(parts, transport::Ordering::kFree);
  if (status != Status::kOk) {
    close_request(*id);
    return status;
  }
  operation.has_unsent = false;
  return Status::kOk;
}

}  // namespace acp::gma
