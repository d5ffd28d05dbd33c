// A step: one put, get, copy or atomic of an operation. The only record of it
// between the public interface and its execution: engine, flights, requests and
// agents share it. A transport that posts it gets key, offset and pointer of
// its ends beside it (transport::RemoteStep); decision 11 says why.
#pragma once

#include <cstddef>
#include <cstdint>

namespace acp::protocol {

/// 64 bits that name one byte of one rank; gmm::GlobalAddressCodec reads them.
using GlobalAddress = std::uint64_t;

enum class Opcode : std::uint8_t {
  kPut = 1,   ///< `size` bytes from `local` to `remote`.
  kPut8 = 2,  ///< The 8 bytes of `operand` to `remote`; width 8.
  kGet = 3,   ///< `size` bytes from `remote` to `local`.
  kAdd = 4,   ///< The atomics: `width` bytes at `remote`.
  kCas = 5,
  kAnd = 6,
  kOr = 7,
  kXor = 8,
  kSwap = 9,
  kCopy = 10,  ///< `size` bytes from `local` to `remote`, which may be of any
               ///< rank. Delegated: the agent of the rank of `local` copies.
};

/// The atomics stand together in Opcode. docs/gma.md lists the files that a
/// new one touches.
constexpr bool is_atomic(Opcode opcode) noexcept {
  return opcode >= Opcode::kAdd && opcode <= Opcode::kSwap;
}

/// A put or a get: any number of bytes.
constexpr bool is_bulk(Opcode opcode) noexcept {
  return opcode == Opcode::kPut || opcode == Opcode::kGet;
}

/// A step that only writes.
constexpr bool is_put(Opcode opcode) noexcept {
  return opcode == Opcode::kPut || opcode == Opcode::kPut8;
}

/// A step on one word.
constexpr bool is_word(Opcode opcode) noexcept {
  return opcode == Opcode::kPut8 || is_atomic(opcode);
}

/// Step flag: wake the target's sleepers when the step is done. A put of no
/// bytes with this flag only wakes them.
inline constexpr std::uint16_t kSignalFlag = 1;

/// A plain value. A field that the opcode does not need is 0 and not looked at.
struct Step {
  Opcode opcode = Opcode::kCopy;
  std::uint8_t width = 8;    ///< Bytes of a word (kPut8 and atomics).
  std::uint16_t flags = 0;   ///< kSignalFlag.
  GlobalAddress remote = 0;  ///< Memory of the target: destination of a put or
                             ///< copy, source of a get, or the word.
  GlobalAddress local = 0;   ///< The other end: source of a put or copy,
                             ///< destination of a get or of an atomic's old
                             ///< value. 0: the old value is not wanted.
  std::uint64_t size = 0;    ///< Bytes of a put, get or copy.
  /// Value of kPut8; addend, mask, or new value. In a request's put, its index.
  std::uint64_t operand = 0;
  std::uint64_t compare = 0;  ///< Expected value of kCas.
};

constexpr bool is_bulk(const Step& step) noexcept {
  return is_bulk(step.opcode);
}

constexpr bool has_signal(const Step& step) noexcept {
  return (step.flags & kSignalFlag) != 0;
}

/// Bytes that a step touches at `remote`.
constexpr std::uint64_t bytes_at_remote(const Step& step) noexcept {
  return is_word(step.opcode) ? step.width : step.size;
}

/// Bytes that a step carries in the request, and brings back in the reply.
constexpr std::size_t request_bytes(const Step& step) noexcept {
  return step.opcode == Opcode::kPut ? step.size : 0;
}

constexpr std::size_t reply_bytes(const Step& step) noexcept {
  return step.opcode == Opcode::kGet ? step.size
         : is_atomic(step.opcode)    ? 8
                                     : 0;
}

}  // namespace acp::protocol
