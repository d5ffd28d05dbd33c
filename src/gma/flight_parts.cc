// Puts that do not fit one message: one request in parts (docs/engine.md). The
// last part carries the words that follow the puts in the chain, and is
// answered for all. Called by the other parts of FlightSender and by the
// operation runner. Nothing here waits: without room, send() is called again.
#include <algorithm>
#include <array>
#include <utility>

#include "base/inline_vector.h"
#include "gma/flight_sender.h"
#include "gma/request_bytes.h"
#include "gma/route.h"

namespace acp::gma {

using transport::Ordering;

namespace {

/// The words that go with the last part.
std::span<const Step> words_of(const Operation& operation, const Parts& parts) {
  return std::span(operation.steps)
      .subspan(operation.current + parts.puts, parts.joined_steps);
}

/// Index of the next put that has bytes; parts.puts if there is none.
std::size_t next_put(const Operation& operation, const Parts& parts) {
  std::size_t index = parts.index + 1;
  while (index < parts.puts &&
         operation.steps[operation.current + index].size == 0) {
    ++index;
  }
  return index;
}

}  // namespace

/// An endpoint that posts has no need of parts.
bool FlightSender::needs_parts(std::uint64_t bytes, const PeerEndpoint& to) {
  return to.max_posted == 0 && bytes > kLeastPiece &&
         bytes > to.good_message() - kRequestHead;
}

/// Counts the steps from `first` on that may join the last part or post of a
/// put. They are words for the agent of the same rank and color, and their own
/// end is valid. They fill half a message at most, so that data still fits.
std::size_t FlightSender::joinable_steps(const PeerQueue& queue,
                                         const Operation& operation,
                                         std::size_t first,
                                         const Step& put) const {
  const auto& codec = space_.codec();
  const std::size_t most = queue.to().good_message() / 2 / protocol::kStepBytes;
  const auto behind = std::span(operation.steps).subspan(first);
  const auto rest = behind.first(std::min(behind.size(), most));
  const auto stays_behind = [&](const Step& step) {
    if (!protocol::is_word(step.opcode) || is_for_device(step) ||
        codec.rank(step.remote) != codec.rank(put.remote) ||
        codec.color(step.remote) != codec.color(put.remote)) {
      return true;
    }
    return route(space_, step) == Way::kLocal ||
           (step.local != 0 &&
            space_.check_own(step.local, step.width) != Status::kOk);
  };
  return static_cast<std::size_t>(
      std::find_if(rest.begin(), rest.end(), stays_behind) - rest.begin());
}

/// Opens a request whose reply brings the results of these words. Nothing: no
/// room for that reply now.
std::optional<std::uint64_t> FlightSender::open_words(
    PeerQueue& queue, Operation& operation, std::span<const Step> words) {
  Request request;
  request.operation = &operation;
  request.queue = &queue;
  for (const Step& word : words) {
    request.reply_bytes += protocol::reply_bytes(word);
  }
  return requests_.open(request);
}

/// Opens the request of all parts. kAgain: no room for its reply now.
Status FlightSender::open_parts(PeerQueue& queue,
                                Operation& operation,
                                Parts& parts) {
  parts.request_id = open_words(queue, operation, words_of(operation, parts));
  return parts.request_id ? Status::kOk : Status::kAgain;
}

/// Sends the next part. The first one decides how many words join the last. The
/// parts of the second put are ordered, and those of each later one, because no
/// put may take effect before the one in front of it. A put whose source was
/// gone once only ends, even if the source is back when the endpoint has room
/// for the last part.
Status FlightSender::send_part(PeerQueue& queue,
                               Operation& operation,
                               Parts& parts) {
  if (parts.failure != Status::kOk) {
    return end_parts(queue, operation, parts);
  }
  if (!parts.request_id) {
    parts.joined_steps = joinable_steps(
        queue, operation, operation.current + parts.puts, parts.put);
  }
  // Each part leaves room for the joined words, since the last one needs it.
  const std::size_t head =
      kRequestHead + parts.joined_steps * protocol::kStepBytes;
  const std::uint64_t size =
      std::min(parts.put.size - parts.sent_bytes,
               piece_size(parts.put.size, queue.to().good_message() - head));
  Step part = piece_of(parts.put, parts.sent_bytes, size);
  part.operand = parts.index;
  const auto from = source_at(part.local, size);
  if (!from.ok()) {
    parts.failure = from.status();
    return parts.request_id ? end_parts(queue, operation, parts)
                            : from.status();
  }
  if (!parts.request_id) {
    if (const Status status = open_parts(queue, operation, parts);
        status != Status::kOk) {
      return status;
    }
  }
  const bool ends_put = parts.sent_bytes + size == parts.put.size;
  const std::size_t next = next_put(operation, parts);
  const bool is_last = ends_put && next == parts.puts;
  InlineVector<protocol::StepBytes, protocol::kMaxSteps> steps;
  steps.push_back(protocol::encode_step(part));
  if (is_last) {
    for (const Step& word : words_of(operation, parts)) {
      steps.push_back(protocol::encode_step(word));
    }
  }
  const Status status = send_part_message(queue, operation, parts, steps,
                                          {from.value(), size}, is_last);
  if (status != Status::kOk) {
    return status;
  }
  parts.sent_bytes += size;
  operation.has_unsent = !is_last;
  if (ends_put && !is_last) {
    parts.put = operation.steps[operation.current + next];
    parts.index = next;
    parts.sent_bytes = 0;
  }
  return Status::kOk;
}

/// The last part arrives after all others.
Status FlightSender::send_part_message(
    PeerQueue& queue,
    Operation& operation,
    const Parts& parts,
    std::span<const protocol::StepBytes> steps,
    std::span<const std::byte> data,
    bool is_last) {
  protocol::RequestHeader header;
  header.steps = static_cast<std::uint8_t>(steps.size());
  header.flags = is_last ? 0 : protocol::kMoreFlag;
  header.data_bytes = static_cast<std::uint32_t>(data.size());
  header.id = *parts.request_id;
  const std::array<std::span<const std::byte>, 3> message = {
      bytes_of(header), std::as_bytes(steps), data};
  const Status status = send_data(
      queue, operation, message,
      is_last || parts.index != 0 ? Ordering::kOrdered : Ordering::kFree);
  if (status != Status::kOk && status != Status::kAgain) {
    requests_.close(*parts.request_id);
  }
  return status;
}

/// The source is gone. Parts under way must have ended before the operation
/// does, so a last part that does nothing completes their request.
Status FlightSender::end_parts(PeerQueue& queue,
                               Operation& operation,
                               Parts& parts) {
  operation.current += std::exchange(parts.index, 0);  // the step that fails
  parts.puts = 1;
  parts.joined_steps = 0;
  const protocol::StepBytes nothing =
      protocol::encode_step(piece_of(parts.put, 0, 0));
  const Status status = send_part_message(queue, operation, parts,
                                          {&nothing, 1}, {}, /*is_last=*/true);
  if (status == Status::kOk) {
    operation.status = parts.failure;
    operation.has_unsent = false;
  }
  return status;
}

}  // namespace acp::gma
