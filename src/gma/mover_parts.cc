// Puts that do not fit one message: one request in parts. The last part carries
// the words that follow in the chain and is answered for all; docs/engine.md.
#include <algorithm>
#include <array>

#include "base/inline_vector.h"
#include "gma/mover.h"
#include "gma/request_bytes.h"

namespace acp::gma {

namespace {

using protocol::Opcode;
using transport::Ordering;

bool is_word(Opcode opcode) noexcept {
  return opcode == Opcode::kPut8 || protocol::is_atomic(opcode);
}

}  // namespace

/// The steps behind the current one that may go with its last part: words for
/// the same peer, by the same path, whose own end is in order. Not so many that
/// small messages would hold little else.
std::size_t Mover::joinable_steps(const Path& path,
                                  const Operation& operation) const {
  const auto& codec = space_.codec();
  const std::size_t most =
      path.link.max_message / 2 / sizeof(protocol::WireStep);
  const auto behind = std::span(operation.steps).subspan(operation.current + 1);
  const auto rest = behind.first(std::min(behind.size(), most));
  const auto stays_behind = [&](const Step& step) {
    if (!is_word(step.opcode) ||
        codec.rank(step.remote) != codec.rank(operation.piece_remote) ||
        codec.color(step.remote) != codec.color(operation.piece_remote)) {
      return true;
    }
    const Result<gmm::Target> remote = space_.locate(step.remote, step.width);
    return !remote.ok() || is_direct_word(space_, step, remote.value()) ||
           (step.local != 0 && !space_.own(step.local, step.width).ok());
  };
  return static_cast<std::size_t>(
      std::find_if(rest.begin(), rest.end(), stays_behind) - rest.begin());
}

/// What one part holds at most, so that the last has room for what joins it.
std::uint64_t Mover::part_bytes(const Path& path,
                                const Operation& operation) const {
  return piece_size(operation.piece_bytes,
                    path.link.max_message - kRequestHead -
                        operation.joined_steps * sizeof(protocol::WireStep));
}

/// A wire that reaches the peer's memory has better ways.
bool Mover::needs_parts(const Path& path, const Operation& operation) const {
  return operation.piece_opcode == Opcode::kPut && path.link.max_posted == 0 &&
         operation.piece_bytes > path.link.max_message - kRequestHead;
}

/// The next part. kAgain: no room now.
Status Mover::send_part(Path& path, Operation& operation) {
  if (!operation.parts_id) {
    operation.joined_steps = joinable_steps(path, operation);
  }
  const std::uint64_t offset = operation.sent_bytes;
  const std::uint64_t size =
      std::min(operation.piece_bytes - offset, part_bytes(path, operation));
  const auto from = source_at(operation.piece_local + offset, size);
  if (!from.ok()) {
    return operation.parts_id ? end_parts(path, operation, from.status())
                              : from.status();
  }
  if (!operation.parts_id) {
    const auto words =
        std::span(operation.steps)
            .subspan(operation.current + 1, operation.joined_steps);
    std::uint64_t in_reply = 0;
    for (const Step& word : words) {
      in_reply += protocol::reply_bytes(wire_step(word));
    }
    operation.parts_id = open_request(path, operation, 0, 0, in_reply);
    if (!operation.parts_id) {
      return Status::kAgain;
    }
    request_of(*operation.parts_id, false)->is_in_parts = true;
  }
  const bool is_last = offset + size == operation.piece_bytes;
  InlineVector<protocol::WireStep, protocol::kMaxSteps> steps;
  protocol::WireStep& put = steps.push_back({});
  put.remote = operation.piece_remote + offset;
  put.size = static_cast<std::uint32_t>(size);
  for (std::size_t i = 1; is_last && i <= operation.joined_steps; ++i) {
    steps.push_back(wire_step(operation.steps[operation.current + i]));
  }
  const Status status =
      send_part_of(path, operation, steps, {from.value(), size},
                   is_last ? Ordering::kOrdered : Ordering::kFree);
  if (status == Status::kOk) {
    operation.sent_bytes += size;
    operation.has_unsent = !is_last;
  }
  return status;
}

/// Free: a part. Ordered: the last, which comes after all others.
Status Mover::send_part_of(Path& path,
                           Operation& operation,
                           std::span<const protocol::WireStep> steps,
                           std::span<const std::byte> data,
                           Ordering ordering) {
  protocol::RequestHeader header;
  header.steps = static_cast<std::uint8_t>(steps.size());
  header.flags = ordering == Ordering::kOrdered ? 0 : protocol::kMoreFlag;
  header.data_bytes = static_cast<std::uint32_t>(data.size());
  header.id = *operation.parts_id;
  const std::array<std::span<const std::byte>, 3> parts = {
      bytes_of(header), std::as_bytes(steps), data};
  const Status status = send_data(path, operation, parts, ordering);
  if (status != Status::kOk && status != Status::kAgain) {
    close_request(*operation.parts_id);
  }
  return status;
}

/// The parts under way must have ended before the operation does, so their
/// request is completed by a last part that does nothing.
Status Mover::end_parts(Path& path, Operation& operation, Status why) {
  operation.joined_steps = 0;
  protocol::WireStep nothing;
  nothing.remote = operation.piece_remote;
  const Status status =
      send_part_of(path, operation, {&nothing, 1}, {}, Ordering::kOrdered);
  if (status == Status::kOk) {
    operation.status = why;
    operation.has_unsent = false;
  }
  return status;
}

}  // namespace acp::gma
