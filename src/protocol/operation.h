// Requests to a rank's agent and its replies: the bytes inside of messages.
//
//   request   0 u8 type = 1   1 u8 steps   2 u16 flags   4 u32 data bytes
//             8 u64 id, equal in all parts of a request
//            16 steps of 32 bytes, then the data of the put steps in order
//   step      0 u8 opcode   1 u8 width   2 u16 flags
//             4 u32 size of a put or a get, 0 otherwise
//             8 u64 remote   16 u64 operand   24 u64 compare
//               in a copy:   16 u64 local     24 u64 size
//               in a put:    16 u64 index of the step in its chain
//   reply     0 u8 type = 2   1 u8 status   2 u16 failed step; of a copy: 0 the
//               source has failed, 1 the destination
//             4 u32 data bytes
//             8 u64 id
//            16 results in order: 8 bytes for an atomic's old value, `size`
//               bytes for a get; nothing behind the first step that failed
//   shared    0 u8 type = 3   1 three zero bytes
//   reply     4 u32 bytes of the ids behind the first, at least 8
//             8 u64 ids of two requests or more. Each has succeeded and has no
//               results
//
// Little-endian. Decoding is pure and refuses everything else.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/little_endian.h"
#include "protocol/step.h"
#include "status/status.h"

namespace acp::protocol {

enum class MessageType : std::uint8_t {
  kRequest = 1,
  kReply = 2,
  kSharedReply = 3,
};

/// Steps of a request, as ACPX_MAX_STEPS for a program.
inline constexpr std::size_t kMaxSteps = 16;

/// Request flag: the request is a part, a single put. More parts with its id
/// follow. The last part does not have the flag and arrives after all others.
/// Its reply answers all parts. No part is executed after one that has failed.
/// A failed step counts from the first part's put, by the indices of the puts.
inline constexpr std::uint16_t kMoreFlag = 1;

/// Request flag: nobody waits for the end of the request, a single step that is
/// no get and no copy. It has no reply, and its id is 0. The target logs a
/// failure.
inline constexpr std::uint16_t kUnansweredFlag = 2;

struct RequestHeader {
  MessageType type = MessageType::kRequest;
  std::uint8_t steps = 0;
  std::uint16_t flags = 0;
  std::uint32_t data_bytes = 0;
  std::uint64_t id = 0;
};

static_assert(sizeof(RequestHeader) == 16);

/// A step in a request, laid out as the table above says.
inline constexpr std::size_t kStepBytes = 32;
using StepBytes = std::array<std::byte, kStepBytes>;

/// The data of a put travel behind the steps, and the initiator keeps to itself
/// where results go: `local` is in the bytes of a copy only. Precondition: the
/// size of a put or a get is below 2^32.
inline StepBytes encode_step(const Step& step) noexcept {
  const bool is_copy = step.opcode == Opcode::kCopy;
  StepBytes bytes;  // NOLINT(*-member-init): every byte is stored below
  bytes[0] = static_cast<std::byte>(step.opcode);
  bytes[1] = static_cast<std::byte>(step.width);
  store_little(&bytes[2], step.flags);
  store_little(&bytes[4], is_bulk(step) ? static_cast<std::uint32_t>(step.size)
                                        : std::uint32_t{0});
  store_little(&bytes[8], step.remote);
  store_little(&bytes[16], is_copy ? step.local : step.operand);
  store_little(&bytes[24], is_copy ? step.size : step.compare);
  return bytes;
}

/// Reads the kStepBytes at `from`, which a peer may have filled with anything.
inline Step decode_step(const std::byte* from) noexcept {
  Step step;
  step.opcode = static_cast<Opcode>(from[0]);
  step.width = static_cast<std::uint8_t>(from[1]);
  step.flags = load_little<std::uint16_t>(from + 2);
  step.remote = load_little<std::uint64_t>(from + 8);
  const auto third = load_little<std::uint64_t>(from + 16);
  const auto fourth = load_little<std::uint64_t>(from + 24);
  if (step.opcode == Opcode::kCopy) {
    step.local = third;
    step.size = fourth;
  } else {
    step.size = load_little<std::uint32_t>(from + 4);
    step.operand = third;
    step.compare = fourth;
  }
  return step;
}

/// ReplyHeader::failed_step of a delegated copy, which is the only step of its
/// request: the end at which the copy has failed. The agent that answers is
/// that of the source.
inline constexpr std::uint16_t kSourceFailed = 0;
inline constexpr std::uint16_t kDestinationFailed = 1;

struct ReplyHeader {
  MessageType type = MessageType::kReply;
  Status status = Status::kOk;
  std::uint16_t failed_step = 0;  ///< When status is not kOk.
  std::uint32_t data_bytes = 0;
  std::uint64_t id = 0;
};

static_assert(sizeof(ReplyHeader) == 16);

/// The most requests that one shared reply answers: with 456 bytes it fits a
/// message of every transport.
inline constexpr std::size_t kMostSharing = 56;

/// A decoded request, which points into the receive buffer.
struct RequestView {
  RequestHeader header;
  std::span<const std::byte> step_bytes;
  std::span<const std::byte> data;

  Step step(std::size_t index) const noexcept {
    return decode_step(step_bytes.data() + index * kStepBytes);
  }
};

/// A decoded reply, which points into the receive buffer.
struct ReplyView {
  ReplyHeader header;
  std::span<const std::byte> data;
};

/// Pure functions. They return nothing when the bytes are no such message.
std::optional<MessageType> message_type(
    std::span<const std::byte> bytes) noexcept;
std::optional<RequestView> decode_request(
    std::span<const std::byte> bytes) noexcept;
std::optional<ReplyView> decode_reply(
    std::span<const std::byte> bytes) noexcept;
/// Returns the header of a message that is not a request only because the data
/// of its last put are missing. The initiator's program had unmapped them
/// before they had to be sent again.
std::optional<RequestHeader> decode_request_without_data(
    std::span<const std::byte> bytes) noexcept;
/// Returns the ids, 8 bytes each.
std::optional<std::span<const std::byte>> decode_shared_reply(
    std::span<const std::byte> bytes) noexcept;

}  // namespace acp::protocol
