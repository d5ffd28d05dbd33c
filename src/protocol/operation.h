// Requests to a rank's agent and its replies: the bytes inside of messages.
//
//   request   0 u8 type = 1   1 u8 steps   2 u16 flags   4 u32 data bytes
//             8 u64 id, equal in all parts of a request
//            16 steps of 32 bytes, then the data of the put steps in order
//   step      0 u8 opcode   1 u8 width   2 u16 flags   4 u32 size
//             8 u64 remote   16 u64 operand   24 u64 compare
//   reply     0 u8 type = 2   1 u8 status   2 u16 failed step
//             4 u32 data bytes
//             8 u64 id
//            16 results in order: 8 bytes for an atomic's old value, `size`
//               bytes for a get; nothing behind the first step that failed
//
// Little-endian. Decoding is pure and refuses everything else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "base/status.h"

namespace acp::protocol {

enum class Opcode : std::uint8_t {
  kPut = 1,   ///< `size` bytes of data to `remote`.
  kPut8 = 2,  ///< The 8 bytes of `operand` to `remote`; width 8.
  kGet = 3,   ///< `size` bytes from `remote`.
  kAdd = 4,   ///< The atomics: `width` bytes at `remote`.
  kCas = 5,
  kAnd = 6,
  kOr = 7,
  kXor = 8,
  kSwap = 9,
  kCopy = 10,  ///< Delegated: `compare` bytes from `operand` to `remote`.
};

/// The atomics stand together in Opcode. docs/gma.md lists the places that a
/// new one touches.
constexpr bool is_atomic(Opcode opcode) noexcept {
  return opcode >= Opcode::kAdd && opcode <= Opcode::kSwap;
}

/// A put or a get: any number of bytes.
constexpr bool is_bulk(Opcode opcode) noexcept {
  return opcode == Opcode::kPut || opcode == Opcode::kGet;
}

/// A step on one word.
constexpr bool is_word(Opcode opcode) noexcept {
  return opcode == Opcode::kPut8 || is_atomic(opcode);
}

enum class MessageType : std::uint8_t { kRequest = 1, kReply = 2 };

/// Step flag: wake the target's sleepers when the step is done. A put of no
/// bytes with this flag only wakes them.
inline constexpr std::uint16_t kSignalFlag = 1;
inline constexpr std::size_t kMaxSteps = 16;

/// Request flag: the request is a part, a single put. More parts with its id
/// follow. The last part does not have the flag and arrives after all others.
/// Its reply answers all parts; it is not executed if a part has failed.
inline constexpr std::uint16_t kMoreFlag = 1;

struct RequestHeader {
  MessageType type = MessageType::kRequest;
  std::uint8_t steps = 0;
  std::uint16_t flags = 0;
  std::uint32_t data_bytes = 0;
  std::uint64_t id = 0;
};

static_assert(sizeof(RequestHeader) == 16);

struct WireStep {
  Opcode opcode = Opcode::kPut;
  std::uint8_t width = 8;
  std::uint16_t flags = 0;
  std::uint32_t size = 0;
  std::uint64_t remote = 0;
  std::uint64_t operand = 0;
  std::uint64_t compare = 0;
};

static_assert(sizeof(WireStep) == 32);

struct ReplyHeader {
  MessageType type = MessageType::kReply;
  Status status = Status::kOk;
  std::uint16_t failed_step = 0;  ///< When status is not kOk.
  std::uint32_t data_bytes = 0;
  std::uint64_t id = 0;
};

static_assert(sizeof(ReplyHeader) == 16);

/// Bytes that a step carries in the request, and brings back in the reply.
constexpr std::size_t request_bytes(const WireStep& step) noexcept {
  return step.opcode == Opcode::kPut ? step.size : 0;
}

constexpr std::size_t reply_bytes(const WireStep& step) noexcept {
  return step.opcode == Opcode::kGet ? step.size
         : is_atomic(step.opcode)    ? 8
                                     : 0;
}

/// A decoded request, which points into the receive buffer.
struct RequestView {
  RequestHeader header;
  std::span<const std::byte> step_bytes;
  std::span<const std::byte> data;

  WireStep step(std::size_t index) const noexcept {
    WireStep step;
    std::memcpy(&step, step_bytes.data() + index * sizeof(WireStep),
                sizeof step);
    return step;
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

}  // namespace acp::protocol
