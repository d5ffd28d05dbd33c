// An atomic of 8 bytes that a device executes. Devices have compare-and-swap
// and fetch-and-add; other atomics are loops of compare-and-swap.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/assert.h"
#include "protocol/operation.h"
#include "verbs/registered_words.h"

namespace acp::verbs {

/// The request and the progress of one atomic. Written by Endpoint.
struct WordAtomic {
  protocol::Opcode opcode = protocol::Opcode::kAdd;
  std::uint64_t operand = 0;
  std::uint64_t compare = 0;   ///< Used by kCas only.
  std::byte* local = nullptr;  ///< Where the old value goes; may be null.
  std::uint64_t address = 0;   ///< The word, in the peer.
  std::uint32_t rkey = 0;
  bool is_fenced = false;
  std::uint64_t expected = 0;  ///< A loop's guess of the current value.
  RegisteredWord result;       ///< None: this entry is free.
  std::uint64_t poison = 0;    ///< `result` before the device writes it.
};

constexpr bool is_loop(protocol::Opcode opcode) noexcept {
  return protocol::is_atomic(opcode) && opcode != protocol::Opcode::kAdd &&
         opcode != protocol::Opcode::kCas;
}

/// The word's value after the atomic, when it was `old` before.
constexpr std::uint64_t value_after(const WordAtomic& atomic,
                                    std::uint64_t old) noexcept {
  switch (atomic.opcode) {
    case protocol::Opcode::kAdd: return old + atomic.operand;
    case protocol::Opcode::kCas:
      return old == atomic.compare ? atomic.operand : old;
    case protocol::Opcode::kAnd: return old & atomic.operand;
    case protocol::Opcode::kOr: return old | atomic.operand;
    case protocol::Opcode::kXor: return old ^ atomic.operand;
    case protocol::Opcode::kSwap: return atomic.operand;
    default: ACP_ASSERT(false && "not an atomic"); return old;
  }
}

}  // namespace acp::verbs
