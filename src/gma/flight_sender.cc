// Requests to agents: pieces of a step, whole chains, and signals. The
// operation runner calls send(); parts are in flight_parts.cc, posts in
// flight_posts.cc. Nothing here waits, or uses an address that was looked up
// for an earlier send.
#include "gma/flight_sender.h"

#include <algorithm>
#include <array>
#include <functional>

#include "base/assert.h"
#include "base/inline_vector.h"
#include "gma/request_bytes.h"
#include "gmm/touch.h"

namespace acp::gma {

using protocol::Opcode;

namespace {

/// The bytes in front of the data of a request of one step.
struct OneStep {
  protocol::RequestHeader header;
  protocol::StepBytes step{};
};

static_assert(sizeof(OneStep) == kRequestHead);

}  // namespace

/// Pieces come first, since most operations are one. Most endpoints do not
/// post, and then the piece is a message at once.
Status FlightSender::send(PeerQueue& queue, Operation& operation) {
  if (auto* pieces = std::get_if<Pieces>(&operation.flight)) {
    const Status status = queue.to().max_posted == 0
                              ? send_piece_message(queue, operation, *pieces)
                              : post_or_send_piece(queue, operation, *pieces);
    if (status == Status::kOk) {
      operation.has_unsent =
          is_bulk(pieces->step) && pieces->sent_bytes < pieces->step.size;
    }
    return status;
  }
  if (auto* chain = std::get_if<Chain>(&operation.flight)) {
    return send_chain(queue, operation, *chain);
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
    request += protocol::kStepBytes + request_bytes(step);
    reply += reply_bytes(step);
  }
  return std::max(request, reply) <= most;
}

/// Sends a message whose last part is data of the operation's source, if any.
/// The transport may read that data in place until the operation ends. What it
/// gives up then are all bytes between the first and the last source.
Status FlightSender::send_data(
    PeerQueue& queue,
    Operation& operation,
    std::span<const std::span<const std::byte>> parts,
    transport::Ordering ordering) {
  const std::span<const std::byte> data = parts.back();
  if (operation.in_place.empty()) {
    operation.in_place = data;
  } else if (!data.empty()) {
    const std::span<const std::byte> before = operation.in_place;
    operation.in_place = {std::min(before.data(), data.data(), std::less<>()),
                          std::max(before.data() + before.size(),
                                   data.data() + data.size(), std::less<>())};
  }
  return queue.endpoint().send_in_place(parts, ordering);
}

/// Looks up source bytes that are about to be sent. kBadKey: unregistered while
/// the operation waited or was under way. kBadAddress: unmapped, but still
/// registered; a peer may have asked for the operation.
Result<const std::byte*> FlightSender::source_at(GlobalAddress local,
                                                 std::uint64_t size) const {
  std::byte* from = space_.direct(local, size);
  if (from == nullptr) {
    const Status why = space_.locate(local, size).status();
    return why == Status::kOk ? Status::kBadKey : why;
  }
  return gmm::can_touch(space_, local, from, size, Access::kRead)
             ? Result<const std::byte*>(from)
             : Status::kBadAddress;
}

/// A post comes first; an endpoint that refuses it gets a message.
Status FlightSender::post_or_send_piece(PeerQueue& queue,
                                        Operation& operation,
                                        Pieces& pieces) {
  Status status = post_with_words(queue, operation, pieces);
  if (status == Status::kUnsupported) {
    status = post_piece(queue, operation, pieces);
  }
  return status == Status::kUnsupported
             ? send_piece_message(queue, operation, pieces)
             : status;
}

/// Opens a request of one step; nothing when there is no room for its reply. A
/// request of the runtime has no reply, so it is not opened, and ends when the
/// endpoint has taken it.
std::optional<protocol::RequestHeader> FlightSender::begin_request(
    const Request& request) {
  protocol::RequestHeader header;
  header.steps = 1;
  if (request.operation->owner == Owner::kInternal) {
    header.flags = protocol::kUnansweredFlag;
    return header;
  }
  const auto id = requests_.open(request);
  if (!id) {
    return std::nullopt;
  }
  header.id = *id;
  return header;
}

/// The endpoint has not taken the request.
void FlightSender::cancel_request(const protocol::RequestHeader& header) {
  if (header.flags != protocol::kUnansweredFlag) {
    requests_.close(header.id);
  }
}

/// Opens the request before it sends, and closes it again when the endpoint
/// does not take the message. Few bytes are copied at once, so the end of the
/// operation has nothing to reclaim.
Status FlightSender::send_piece_message(PeerQueue& queue,
                                        Operation& operation,
                                        Pieces& pieces) {
  Step piece = pieces.step;
  std::span<const std::byte> data;
  if (is_bulk(piece)) {
    const std::uint64_t rest = piece.size - pieces.sent_bytes;
    const std::uint64_t size =
        piece.size <= kLeastPiece
            ? rest
            : std::min(rest, piece_size(piece.size, queue.to().good_message() -
                                                        kRequestHead));
    piece = piece_of(piece, pieces.sent_bytes, size);
  }
  if (piece.opcode == Opcode::kPut) {
    const auto from = source_at(piece.local, piece.size);
    if (!from.ok()) {
      return from.status();
    }
    data = {from.value(), piece.size};
  }
  Request request;
  request.operation = &operation;
  request.queue = &queue;
  request.reply_bytes = protocol::reply_bytes(piece);
  if (request.reply_bytes != 0) {
    request.local = piece.local;
    request.size = bytes_at_remote(piece);
  }
  const auto header = begin_request(request);
  if (!header) {
    return Status::kAgain;
  }

  OneStep request_head;
  request_head.header = *header;
  request_head.header.data_bytes = static_cast<std::uint32_t>(data.size());
  request_head.step = protocol::encode_step(piece);
  const std::array<std::span<const std::byte>, 2> parts = {
      bytes_of(request_head), data};
  const Status status =
      data.size() <= kLeastPiece
          ? queue.endpoint().send(parts, transport::Ordering::kFree)
          : send_data(queue, operation, parts, transport::Ordering::kFree);
  if (status != Status::kOk) {
    cancel_request(*header);
    return status;
  }
  pieces.sent_bytes += piece.size;
  pieces.has_messages = true;
  return Status::kOk;
}

/// A post comes first. A chain with a step that only a device may do is never
/// a message, nor is one that does not fit.
Status FlightSender::send_chain(PeerQueue& queue,
                                Operation& operation,
                                Chain& chain) {
  Status status = Status::kUnsupported;
  if (queue.to().max_posted != 0) {
    status = post_chain(queue, operation, chain);
    if (status == Status::kUnsupported &&
        (has_step_for_device(operation) ||
         !fits_one_message(operation, queue.to()))) {
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
  InlineVector<protocol::StepBytes, protocol::kMaxSteps> steps;
  InlineVector<std::span<const std::byte>, protocol::kMaxSteps + 2> parts;
  parts.push_back(bytes_of(header));
  parts.push_back({});
  Request request;
  request.operation = &operation;
  request.queue = &queue;
  for (std::size_t i = 0; i < operation.steps.size(); ++i) {
    const Step& step = operation.steps[i];
    steps.push_back(protocol::encode_step(step));
    request.reply_bytes += protocol::reply_bytes(step);
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
  const auto header = begin_request(request);
  if (!header) {
    return Status::kAgain;
  }
  Step ring;
  ring.opcode = Opcode::kPut;
  ring.flags = protocol::kSignalFlag;
  ring.remote = operation.steps[operation.current].remote;
  const protocol::StepBytes encoded = protocol::encode_step(ring);
  const std::array<std::span<const std::byte>, 2> parts = {bytes_of(*header),
                                                           encoded};
  const Status status =
      queue.endpoint().send(parts, transport::Ordering::kFree);
  if (status != Status::kOk) {
    cancel_request(*header);
    return status;
  }
  operation.has_unsent = false;
  return Status::kOk;
}

}  // namespace acp::gma
