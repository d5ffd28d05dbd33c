// Decodes requests and replies. Called for each message of a peer, which may
// hold any bytes; may not read outside of them.
#include "protocol/operation.h"

#include <cstring>

namespace acp::protocol {

namespace {

/// Whether opcode, flags and width of a step fit each other.
bool is_sound(const Step& step) noexcept {
  if (step.opcode < Opcode::kPut || step.opcode > Opcode::kCopy ||
      (step.flags & ~kSignalFlag) != 0) {
    return false;
  }
  if (step.opcode == Opcode::kCopy) {
    return step.flags == 0;  // its put to the target would signal there
  }
  if (step.opcode == Opcode::kPut8) {
    return step.width == 8;  // the agent checks bounds for `width` bytes
  }
  return !is_atomic(step.opcode) || step.width == 4 || step.width == 8;
}

/// Whether the only step of a request may go with the request's flag.
bool fits_flag(const RequestHeader& header, const Step& only) noexcept {
  return header.flags == kMoreFlag
             ? only.opcode == Opcode::kPut && only.flags == 0
             : header.id == 0 && only.opcode != Opcode::kGet &&
                   only.opcode != Opcode::kCopy;
}

}  // namespace

std::optional<MessageType> message_type(
    std::span<const std::byte> bytes) noexcept {
  if (bytes.empty()) {
    return std::nullopt;
  }
  const auto type = static_cast<MessageType>(bytes[0]);
  if (type < MessageType::kRequest || type > MessageType::kSharedReply) {
    return std::nullopt;
  }
  return type;
}

/// Checks the length before it looks at a step. The data behind the steps come
/// last, because each put step says how many bytes of them it has.
std::optional<RequestView> decode_request(
    std::span<const std::byte> bytes) noexcept {
  RequestView view;
  if (bytes.size() < sizeof view.header) {
    return std::nullopt;
  }
  std::memcpy(&view.header, bytes.data(), sizeof view.header);
  const std::size_t count = view.header.steps;
  const std::size_t head = sizeof view.header + count * kStepBytes;
  if (view.header.type != MessageType::kRequest ||
      view.header.flags > kUnansweredFlag || count == 0 || count > kMaxSteps ||
      bytes.size() < head || bytes.size() - head != view.header.data_bytes) {
    return std::nullopt;
  }
  view.step_bytes = bytes.subspan(sizeof view.header, count * kStepBytes);
  view.data = bytes.subspan(head);
  std::size_t needed = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Step step = view.step(i);
    const bool is_alone = step.opcode != Opcode::kCopy || count == 1;
    if (!is_sound(step) || !is_alone) {
      return std::nullopt;
    }
    needed += request_bytes(step);
  }
  if (needed != view.data.size()) {
    return std::nullopt;
  }
  if (view.header.flags != 0 &&
      (count != 1 || !fits_flag(view.header, view.step(0)))) {
    return std::nullopt;
  }
  return view;
}

/// A reply without its data is that to a get whose memory was unmapped before
/// it had to be sent again (transport::Endpoint::send_from_region).
std::optional<ReplyView> decode_reply(
    std::span<const std::byte> bytes) noexcept {
  ReplyView view;
  if (bytes.size() < sizeof view.header) {
    return std::nullopt;
  }
  std::memcpy(&view.header, bytes.data(), sizeof view.header);
  view.data = bytes.subspan(sizeof view.header);
  if (view.data.empty() && view.header.data_bytes != 0) {
    view.header.status = Status::kBadAddress;
    view.header.data_bytes = 0;
  }
  if (view.header.type != MessageType::kReply ||
      view.header.failed_step >= kMaxSteps ||
      static_cast<int>(view.header.status) >= kStatusCount ||
      view.header.data_bytes != view.data.size()) {
    return std::nullopt;
  }
  return view;
}

std::optional<RequestHeader> decode_request_without_data(
    std::span<const std::byte> bytes) noexcept {
  RequestHeader header;
  if (bytes.size() < sizeof header) {
    return std::nullopt;
  }
  std::memcpy(&header, bytes.data(), sizeof header);
  const std::size_t head = sizeof header + header.steps * kStepBytes;
  const bool is_good = header.type == MessageType::kRequest &&
                       header.flags <= kMoreFlag && header.steps != 0 &&
                       header.steps <= kMaxSteps && bytes.size() >= head &&
                       bytes.size() - head < header.data_bytes;
  return is_good ? std::optional(header) : std::nullopt;
}

std::optional<std::span<const std::byte>> decode_shared_reply(
    std::span<const std::byte> bytes) noexcept {
  constexpr std::size_t kIdsAt = offsetof(ReplyHeader, id);
  constexpr std::size_t kIdBytes = sizeof(ReplyHeader::id);
  ReplyHeader header;
  if (bytes.size() < sizeof header + kIdBytes) {
    return std::nullopt;
  }
  std::memcpy(&header, bytes.data(), sizeof header);
  const std::span<const std::byte> ids = bytes.subspan(kIdsAt);
  if (header.type != MessageType::kSharedReply ||
      header.status != Status::kOk || header.failed_step != 0 ||
      header.data_bytes != ids.size() - kIdBytes ||
      ids.size() % kIdBytes != 0) {
    return std::nullopt;
  }
  return ids;
}

}  // namespace acp::protocol
