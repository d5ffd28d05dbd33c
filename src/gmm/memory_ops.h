// Copies and CPU atomics on memory whose address is known. The calling thread
// uses them on mapped memory, and the agent on the memory of its own rank.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/assert.h"
#include "protocol/operation.h"

namespace acp::gmm {

/// One aligned word of 8 bytes.
inline void copy_word(std::byte* to, const std::byte* from) noexcept {
  const std::uint64_t word = std::atomic_ref(*reinterpret_cast<std::uint64_t*>(
                                                 const_cast<std::byte*>(from)))
                                 .load(std::memory_order_acquire);
  std::atomic_ref(*reinterpret_cast<std::uint64_t*>(to))
      .store(word, std::memory_order_release);
}

/// Copies words for ThreadSanitizer. Other threads may change words of the
/// range by atomics meanwhile, and a reader then gets the old or the new word.
/// memmove moves aligned words whole as well, but ThreadSanitizer cannot know
/// that. Source or destination may lie in a packet, at any alignment.
inline void copy_words(std::byte* to,
                       const std::byte* from,
                       std::size_t size) noexcept {
  const auto is_aligned = [](const std::byte* at) {
    return (reinterpret_cast<std::uintptr_t>(at) & 7) == 0;
  };
  const bool is_upwards = to <= from;
  for (std::size_t i = 0; i < size / 8; ++i) {
    const std::size_t at = 8 * (is_upwards ? i : size / 8 - 1 - i);
    std::uint64_t word = 0;
    if (is_aligned(from)) {
      copy_word(reinterpret_cast<std::byte*>(&word), from + at);
    } else {
      std::memcpy(&word, from + at, sizeof word);
    }
    if (is_aligned(to)) {
      copy_word(to + at, reinterpret_cast<const std::byte*>(&word));
    } else {
      std::memcpy(to + at, &word, sizeof word);
    }
  }
}

/// Copies as memmove does. A copy of 8 bytes stores them at once if the
/// destination is aligned, and loads them at once if the source is. So a
/// polling reader never sees half of a word.
inline void copy_bytes(std::byte* to,
                       const std::byte* from,
                       std::size_t size) noexcept {
  const auto both = reinterpret_cast<std::uintptr_t>(to) |
                    reinterpret_cast<std::uintptr_t>(from);
  if (size == 8 && (both & 7) == 0) {
    copy_word(to, from);
    return;
  }
  if (size == 8 && (reinterpret_cast<std::uintptr_t>(to) & 7) == 0) {
    std::uint64_t word = 0;  // from a packet, at any alignment
    std::memcpy(&word, from, sizeof word);
    std::atomic_ref(*reinterpret_cast<std::uint64_t*>(to))
        .store(word, std::memory_order_release);
    return;
  }
#ifdef __SANITIZE_THREAD__
  if (size % 8 == 0) {
    copy_words(to, from, size);
    return;
  }
#endif
  // The fences order the copy after loads of flags before it, and before stores
  // of flags after it.
  std::atomic_thread_fence(std::memory_order_acquire);
  std::memmove(to, from, size);
  std::atomic_thread_fence(std::memory_order_release);
}

template <typename Word>
[[gnu::always_inline]] inline Word apply_atomic_word(protocol::Opcode opcode,
                                                     std::byte* address,
                                                     Word operand,
                                                     Word compare) noexcept {
  std::atomic_ref word(*reinterpret_cast<Word*>(address));
  switch (opcode) {
    case protocol::Opcode::kAdd: return word.fetch_add(operand);
    case protocol::Opcode::kAnd: return word.fetch_and(operand);
    case protocol::Opcode::kOr: return word.fetch_or(operand);
    case protocol::Opcode::kXor: return word.fetch_xor(operand);
    case protocol::Opcode::kSwap: return word.exchange(operand);
    case protocol::Opcode::kCas:
      word.compare_exchange_strong(compare, operand);
      return compare;  // the old value, whether it matched or not
    default: ACP_ASSERT(false && "not an atomic"); return 0;
  }
}

/// Runs one atomic (seq_cst) on an aligned word of `width` 4 or 8 bytes and
/// returns the old value. Every opcode must execute a read-modify-write, also
/// when the value stays the same: Engine::atomic_direct() relies on it as a
/// full fence.
[[gnu::always_inline]] inline std::uint64_t apply_atomic(
    protocol::Opcode opcode,
    std::size_t width,
    std::byte* address,
    std::uint64_t operand,
    std::uint64_t compare) noexcept {
  if (width == 8) {
    return apply_atomic_word<std::uint64_t>(opcode, address, operand, compare);
  }
  return apply_atomic_word<std::uint32_t>(opcode, address,
                                          static_cast<std::uint32_t>(operand),
                                          static_cast<std::uint32_t>(compare));
}

/// Executes an atomic as a network adapter does whose atomics do not agree with
/// those of the CPU: it loads, and stores some time later. For tests; one
/// thread at a time.
inline std::uint64_t apply_unlocked_atomic(protocol::Opcode opcode,
                                           std::size_t width,
                                           std::byte* address,
                                           std::uint64_t operand,
                                           std::uint64_t compare) noexcept {
  constexpr int kReads = 200;  // enough that tests meet other atomics between
  const auto apply = [&](auto word) -> std::uint64_t {
    using Word = decltype(word);
    std::atomic_ref shared(*reinterpret_cast<Word*>(address));
    word = shared.load();
    const Word old = apply_atomic_word(
        opcode, reinterpret_cast<std::byte*>(&word), static_cast<Word>(operand),
        static_cast<Word>(compare));
    for (int i = 0; i < kReads; ++i) {
      static_cast<void>(shared.load());  // widens the window for others
    }
    if (opcode != protocol::Opcode::kCas || old != word) {
      shared.store(word);
    }
    return old;
  };
  return width == 8 ? apply(std::uint64_t{0}) : apply(std::uint32_t{0});
}

/// Stores the old value of an atomic at the address for the result.
inline void store_word(std::byte* to,
                       std::size_t width,
                       std::uint64_t value) noexcept {
  if (width == 8) {
    std::atomic_ref(*reinterpret_cast<std::uint64_t*>(to))
        .store(value, std::memory_order_release);
  } else {
    std::atomic_ref(*reinterpret_cast<std::uint32_t*>(to))
        .store(static_cast<std::uint32_t>(value), std::memory_order_release);
  }
}

}  // namespace acp::gmm
