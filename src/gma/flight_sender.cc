// Requests to agents: pieces of a step, whole chains, and signals. The
// operation runner calls send(); parts are in flight_parts.cc, posts in
// flight_posts.cc.
#include "gma/flight_sender.h"

#include <algorithm>
#include <array>

#include "base/assert.h"
#include "base/inline_vector.h"
#include "gma/request_bytes.h"
#include "gmm/touch.h"

namespace acp::gma {

using protocol::Opcode;

Status FlightSender::send(PeerQueue& queue, Operation& operation) {
  if (auto* pieces = std::get_if<Pieces>(&operation.flight)) {
    return send_piece(queue, operation, *pieces);
  }
  if (std::holds_alternative<Chain>(operation.flight)) {
    return send_chain(queue, operation);
  }
  if (auto* parts = std::get_if<Parts>(&operation.flight)) {
    return send_part(queue, operation, *parts);
  }
  ACP_ASSERT(std::holds_alternative<Signal>(operation.flight));
  return send_signal(queue, operation);
}

bool FlightSender::fits_one_message(const Operation& operation,
                                    const PeerEndpoint& to) {
  const std::size_t most = to.good_message();
  std::size_t request = sizeof(protocol::RequestHeader);
  std::size_t reply = sizeof(protocol::ReplyHeader);
  for (const Step& step : operation.steps) {
    if (is_bulk(step) && step.size > most) {
      return false;
    }
    request += sizeof(protocol::WireStep) + request_bytes(wire_step(step));
    reply += reply_bytes(wire_step(step));
  }
  return std::max(request, reply) <= most;
}

/// Sends a message whose last part is data of the operation's source, if any.
/// The transport may read that data in place until the operation ends.
Status FlightSender::send_data(
    PeerQueue& queue,
    Operation& operation,
    std::span<const std::span<const std::byte>> parts,
    transport::Ordering ordering) {
  const std::span<const std::byte> data = parts.back();
  if (operation.in_place.empty()) {
    operation.in_place = data;
  } else if (!data.empty()) {  // the next piece of the same source
    operation.in_place = {operation.in_place.data(), data.data() + data.size()};
  }
  return queue.endpoint().send_in_place(parts, ordering);
}

/// Looks up source bytes that are about to be sent. kBadKey: unregistered while
/// the operation was under way. kBadAddress: unmapped, but still registered; a
/// peer may have asked for the operation.
Result<const std::byte*> FlightSender::source_at(GlobalAddress local,
                                                 std::uint64_t size) const {
  std::byte* from = space_.direct(local, size);
  if (from == nullptr) {
    return Status::kBadKey;
  }
  return gmm::can_touch(space_, local, from, size, gmm::Access::kRead)
             ? Result<const std::byte*>(from)
             : Status::kBadAddress;
}

/// A post comes first; an endpoint that refuses it gets a message.
Status FlightSender::send_piece(PeerQueue& queue,
                                Operation& operation,
                                Pieces& pieces) {
  Status status = Status::kUnsupported;
  if (queue.to().max_posted != 0) {
    status = post_piece(queue, operation, pieces);
  }
  if (status == Status::kUnsupported) {
    status = send_piece_message(queue, operation, pieces);
  }
  if (status == Status::kOk) {
    operation.has_unsent =
        protocol::is_bulk(pieces.opcode) && pieces.sent_bytes < pieces.bytes;
  }
  return status;
}

/// Opens the request before it sends, and closes it again when the endpoint
/// does not take the message.
Status FlightSender::send_piece_message(PeerQueue& queue,
                                        Operation& operation,
                                        Pieces& pieces) {
  const std::uint64_t offset = pieces.sent_bytes;
  std::uint64_t size = pieces.bytes;
  protocol::WireStep wire = wire_step(operation.steps[operation.current]);
  wire.opcode = pieces.opcode;
  wire.size = 0;
  wire.remote = pieces.remote + offset;
  std::span<const std::byte> data;
  if (protocol::is_bulk(pieces.opcode)) {
    size = std::min(
        pieces.bytes - offset,
        piece_size(pieces.bytes, queue.to().good_message() - kRequestHead));
    wire.size = static_cast<std::uint32_t>(size);
  }
  if (pieces.opcode == Opcode::kPut) {
    const auto from = source_at(pieces.local + offset, size);
    if (!from.ok()) {
      return from.status();
    }
    data = {from.value(), size};
  } else if (pieces.opcode == Opcode::kCopy) {
    wire.operand = pieces.local;
    wire.compare = pieces.bytes;
  }
  Request request;
  request.operation = &operation;
  request.queue = &queue;
  request.local = pieces.opcode == Opcode::kGet        ? pieces.local + offset
                  : protocol::is_atomic(pieces.opcode) ? pieces.local
                                                       : 0;
  request.size = size;
  request.reply_bytes = protocol::reply_bytes(wire);
  const auto id = requests_.open(request);
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
      send_data(queue, operation, parts, transport::Ordering::kFree);
  if (status != Status::kOk) {
    requests_.close(*id);
    return status;
  }
  pieces.sent_bytes += size;
  return Status::kOk;
}

/// A post comes first. A chain with a step that only a device may do is never
/// a message.
Status FlightSender::send_chain(PeerQueue& queue, Operation& operation) {
  Status status = Status::kUnsupported;
  if (queue.to().max_posted != 0) {
    status = post_chain(queue, operation);
    if (status == Status::kUnsupported && has_step_for_device(operation)) {
      return status;
    }
  }
  if (status == Status::kUnsupported) {
    status = send_chain_message(queue, operation);
  }
  if (status == Status::kOk) {
    operation.has_unsent = false;
  }
  return status;
}

/// Collects the data of all puts behind the steps. If a source is gone, its
/// step becomes the current step, which the log line of the failure names.
Status FlightSender::send_chain_message(PeerQueue& queue,
                                        Operation& operation) {
  protocol::RequestHeader header;
  InlineVector<protocol::WireStep, protocol::kMaxSteps> steps;
  InlineVector<std::span<const std::byte>, protocol::kMaxSteps + 2> parts;
  parts.push_back(bytes_of(header));
  parts.push_back({});
  Request request;
  request.operation = &operation;
  request.queue = &queue;
  for (std::size_t i = 0; i < operation.steps.size(); ++i) {
    const Step& step = operation.steps[i];
    request.reply_bytes +=
        protocol::reply_bytes(steps.push_back(wire_step(step)));
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
  const auto id = requests_.open(request);
  if (!id) {
    return Status::kAgain;
  }
  header.steps = static_cast<std::uint8_t>(steps.size());
  header.id = *id;
  const Status status =
      header.data_bytes > 0
          ? send_data(queue, operation, parts, transport::Ordering::kFree)
          : queue.endpoint().send(parts, transport::Ordering::kFree);
  if (status != Status::kOk) {
    requests_.close(*id);
  }
  return status;
}

/// Sends a put of no bytes with the signal flag.
Status FlightSender::send_signal(PeerQueue& queue, Operation& operation) {
  Request request;
  request.operation = &operation;
  request.queue = &queue;
  const auto id = requests_.open(request);
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
  const std::array<std::span<const std::byte>, 2> parts = {bytes_of(header),
                                                           bytes_of(wire)};
  const Status status =
      queue.endpoint().send(parts, transport::Ordering::kFree);
  if (status != Status::kOk) {
    requests_.close(*id);
    return status;
  }
  operation.has_unsent = false;
  return Status::kOk;
}

}  // namespace acp::gma
