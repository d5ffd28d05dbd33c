// Posts: steps that an endpoint does in a peer's memory without the peer. A
// post is a request that the transport's completion answers. Called by the
// other parts of FlightSender and by the operation runner. A refused post may
// leave no request open.
#include <algorithm>
#include <array>

#include "base/inline_vector.h"
#include "gma/flight_sender.h"
#include "gma/request_bytes.h"

namespace acp::gma {

static_assert(transport::kOffsetAlignment == gmm::kBaseAlignment);

bool FlightSender::is_for_device(const Step& step) const {
  return space_.has_device_atomics() && protocol::is_atomic(step.opcode) &&
         step.width == 8;
}

bool FlightSender::has_step_for_device(const Operation& operation) const {
  return space_.has_device_atomics() &&
         std::ranges::any_of(operation.steps, [this](const Step& step) {
           return is_for_device(step);
         });
}

Color FlightSender::color_of(const Step& step) const {
  return is_for_device(step) ? 0 : space_.codec().color(step.remote);
}

bool FlightSender::owes_signal(const Operation& operation) const {
  if (!space_.has_device_atomics()) {
    return false;
  }
  const auto is_signal = [this](const Step& step) {
    return has_signal(step) && is_for_device(step);
  };
  if (std::holds_alternative<Signal>(operation.flight)) {
    return false;
  }
  return std::holds_alternative<Chain>(operation.flight)
             ? std::ranges::any_of(operation.steps, is_signal)
             : is_signal(operation.steps[operation.current]);
}

/// kBadKey: the own end was unregistered while the operation was under way.
/// kUnsupported: the own end is memory of another rank of this host. This
/// process maps that memory, but its transport has registered only its own.
Status FlightSender::remote_step(const Step& step,
                                 transport::RemoteStep& remote) const {
  const auto& codec = space_.codec();
  static_cast<Step&>(remote) = step;
  if (is_for_device(step)) {
    remote.flags = 0;  // a Signal follows
  }
  remote.key = codec.index(step.remote);
  remote.state = codec.state_bits(step.remote);
  remote.state_mask = codec.state_mask();
  remote.offset = codec.offset(step.remote);
  if (step.local != 0) {
    if (codec.rank(step.local) != space_.my_rank()) {
      return Status::kUnsupported;
    }
    remote.local_memory = space_.direct(step.local, bytes_at_remote(step));
    remote.local_key = codec.index(step.local);
    if (remote.local_memory == nullptr) {
      return Status::kBadKey;
    }
  }
  return Status::kOk;
}

/// Posts steps, and a message behind them unless it is empty. kUnsupported: the
/// endpoint does not do that. kAgain: no room now. Precondition: no message
/// follows steps with kBehindAll.
Status FlightSender::post(PeerQueue& queue,
                          Operation& operation,
                          std::span<const transport::RemoteStep> steps,
                          std::span<const std::span<const std::byte>> message,
                          Turn turn) {
  Request request;
  request.operation = &operation;
  request.queue = &queue;
  request.answered_by = AnsweredBy::kCompletion;
  const auto id = requests_.open(request);
  if (!id) {
    return Status::kAgain;
  }
  transport::Endpoint& endpoint = queue.endpoint();
  const Status status =
      turn == Turn::kBehindAll ? endpoint.post_behind(steps, *id)
      : message.empty()        ? endpoint.post(steps, *id)
                               : endpoint.post_then_send(steps, *id, message);
  if (status != Status::kOk) {
    requests_.close(*id);
  }
  return status;
}

/// Posts the next piece of a step. A delegated copy is never posted: an agent
/// does it, and no device.
Status FlightSender::post_piece(PeerQueue& queue,
                                Operation& operation,
                                Pieces& pieces,
                                Turn turn) {
  Step piece = pieces.step;
  if (piece.opcode == protocol::Opcode::kCopy) {
    return Status::kUnsupported;
  }
  if (is_bulk(piece)) {
    piece = piece_of(piece, pieces.sent_bytes,
                     std::min<std::uint64_t>(piece.size - pieces.sent_bytes,
                                             queue.to().max_posted));
  }
  transport::RemoteStep remote;
  Status status = remote_step(piece, remote);
  if (status == Status::kOk) {
    status = post(queue, operation, {&remote, 1}, {}, turn);
  }
  if (status == Status::kOk) {
    pieces.sent_bytes += piece.size;
  }
  return status;
}

/// Posts steps, and the words behind them as a request. Two answers are due
/// then: the completion of the post and the reply, in any order. The endpoint
/// keeps the request behind all puts that were posted.
Status FlightSender::post_and_request(
    PeerQueue& queue,
    Operation& operation,
    std::span<const transport::RemoteStep> steps,
    std::span<const Step> words) {
  const auto id = open_words(queue, operation, words);
  if (!id) {
    return Status::kAgain;
  }
  protocol::RequestHeader header;
  header.steps = static_cast<std::uint8_t>(words.size());
  header.id = *id;
  InlineVector<protocol::StepBytes, protocol::kMaxSteps> encoded;
  for (const Step& word : words) {
    encoded.push_back(protocol::encode_step(word));
  }
  const std::array<std::span<const std::byte>, 2> message = {
      bytes_of(header), std::as_bytes(std::span(encoded))};
  const Status status = post(queue, operation, steps, message);
  if (status != Status::kOk) {
    requests_.close(*id);
  }
  return status;
}

/// Posts the last piece of a put, and the words that follow in the chain as a
/// request behind it. The agent may refuse a piece that went as a request, and
/// then the chain stops at it. So the words wait for its reply. kUnsupported:
/// not the last piece, no words to join, or not by this endpoint.
Status FlightSender::post_with_words(PeerQueue& queue,
                                     Operation& operation,
                                     Pieces& pieces) {
  const std::uint64_t rest = pieces.step.size - pieces.sent_bytes;
  if (pieces.step.opcode != protocol::Opcode::kPut || pieces.has_messages ||
      rest > queue.to().max_posted) {
    return Status::kUnsupported;
  }
  const std::size_t first = operation.current + 1;
  const std::size_t count =
      joinable_steps(queue, operation, first, pieces.step);
  if (count == 0) {
    return Status::kUnsupported;
  }
  transport::RemoteStep remote;
  Status status =
      remote_step(piece_of(pieces.step, pieces.sent_bytes, rest), remote);
  if (status == Status::kOk) {
    status = post_and_request(queue, operation, {&remote, 1},
                              std::span(operation.steps).subspan(first, count));
  }
  if (status == Status::kOk) {
    pieces.sent_bytes += rest;
    pieces.joined_steps = count;
  }
  return status;
}

/// Posts all steps of a chain but empty ones. A step above max_posted, or a
/// chain of empty steps alone, is not posted.
Status FlightSender::post_chain(PeerQueue& queue,
                                Operation& operation,
                                Chain& chain) {
  std::array<transport::RemoteStep, protocol::kMaxSteps> remotes;
  std::size_t count = 0;
  for (std::size_t i = 0; i < operation.steps.size(); ++i) {
    const Step& step = operation.steps[i];
    if (is_bulk(step) && step.size == 0) {
      continue;
    }
    if (is_bulk(step) && step.size > queue.to().max_posted) {
      return Status::kUnsupported;
    }
    const Status status = remote_step(step, remotes[count++]);
    if (status == Status::kUnsupported) {
      return status;  // the chain goes another way, from its first step on
    }
    if (status != Status::kOk) {
      operation.current = i;
      return status;
    }
  }
  if (count == 0) {
    return Status::kUnsupported;
  }
  const auto posted = std::span(remotes).first(count);
  const Status status = post(queue, operation, posted);
  return status == Status::kUnsupported &&
                 !fits_one_message(operation, queue.to())
             ? post_in_front(queue, operation, chain, posted)
             : status;
}

/// Posts the puts with which a chain begins, and joins the words that are all
/// the rest of it. An endpoint that refuses to join them posts the puts alone,
/// and the words follow when these are complete. `posted` are all steps of the
/// chain but empty ones. kUnsupported: the chain has another shape, or the
/// endpoint does not take the puts.
Status FlightSender::post_in_front(
    PeerQueue& queue,
    Operation& operation,
    Chain& chain,
    std::span<const transport::RemoteStep> posted) {
  const std::span<const Step> steps = operation.steps;
  const auto words = std::ranges::find_if(
      steps, [](const Step& step) { return protocol::is_word(step.opcode); });
  const auto first = static_cast<std::size_t>(words - steps.begin());
  const std::size_t count = steps.size() - first;
  const auto puts =
      posted.first(posted.size() - std::min(count, posted.size()));
  if (count == 0 || puts.empty() || has_step_for_device(operation) ||
      !std::ranges::all_of(puts, protocol::is_put,
                           &transport::RemoteStep::opcode) ||
      joinable_steps(queue, operation, first, steps.front()) != count) {
    return Status::kUnsupported;
  }
  Status status =
      post_and_request(queue, operation, puts, steps.subspan(first));
  if (status == Status::kOk) {
    chain.joined_steps = count;
  } else if (status == Status::kUnsupported) {
    status = post(queue, operation, puts);
    chain.steps = status == Status::kOk ? first : chain.steps;
  }
  return status;
}

}  // namespace acp::gma
