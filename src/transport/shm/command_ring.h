// The ring in a slice through which ranks of one host send messages to the
// slice's owner: bounded, many producers, one consumer at a time.
//
// Each of the n entries carries a sequence number, which keeps two invariants:
// 1. Entry i is free for ticket t (t % n == i) when its sequence is t. Only
//    then does a producer take ticket t. So a full ring refuses and never
//    blocks.
// 2. Entry i is full when its sequence is t + 1. The consumer empties it and
//    sets the sequence to t + n, which frees the entry for the next round.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "protocol/host_segment.h"
#include "status/status.h"

namespace acp::shm {

/// One message in the ring; the bytes are valid until release().
struct RingMessage {
  std::uint32_t from = 0;  ///< Process number.
  std::uint32_t color = 0;
  std::span<const std::byte> bytes;
};

/// A view of the ring; the slice owns the memory. Any thread of any process may
/// call push(); one thread of the owner at a time calls front() and release().
class CommandRing {
 public:
  CommandRing(std::byte* slice, const protocol::HostHeader& header) noexcept
      : header_(reinterpret_cast<protocol::SliceHeader*>(slice)),
        entries_(slice + header.ring_offset) {}

  /// Copies a message into the ring. kAgain: the ring is full. kTooLarge: the
  /// message is above protocol::kRingMessageBytes.
  [[nodiscard]] Status push(
      std::uint32_t from,
      std::uint32_t color,
      std::span<const std::span<const std::byte>> parts) noexcept;

  /// Shows the oldest message; returns false when there is none.
  bool front(RingMessage& message) noexcept;
  /// Frees the entry of the oldest message.
  void release() noexcept;
  bool is_empty() const noexcept;

 private:
  /// In shared memory. The sequence says whose turn it is: the sender that has
  /// the ticket writes all fields, and then the receiver releases the entry.
  struct Entry {
    std::atomic<std::uint64_t> sequence;  ///< Minus its index: zero at start.
    std::uint32_t from;
    std::uint32_t color;
    std::uint32_t size;
  };

  static_assert(sizeof(Entry) <= 64);

  Entry& entry(std::uint64_t ticket) const noexcept {
    return *reinterpret_cast<Entry*>(
        entries_ + ticket % protocol::kRingEntries * protocol::kRingEntryBytes);
  }

  static std::byte* payload(Entry& entry) noexcept {
    return reinterpret_cast<std::byte*>(&entry) + 64;
  }

  /// The sequence of an entry. Memory holds it minus the index of the entry, so
  /// that zeroed memory is an empty ring.
  static std::uint64_t load_sequence(const Entry& entry,
                                     std::uint64_t ticket) noexcept {
    return entry.sequence.load(std::memory_order_acquire) +
           ticket % protocol::kRingEntries;
  }

  protocol::SliceHeader* header_;
  std::byte* entries_;
};

}  // namespace acp::shm
