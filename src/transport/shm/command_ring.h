// The ring in a slice through which ranks of one host send messages to its
// owner: many producers, one consumer at a time, bounded.
//
// Each place carries a sequence number. Place i is free for ticket t (t % n ==
// i) when its sequence is t, and full when it is t + 1; the consumer sets
// t + n. A producer takes a ticket only when the place is free, so a full ring
// is an answer.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.h"
#include "protocol/host_segment.h"

namespace acp::shm {

/// One message in the ring; valid until release().
struct RingMessage {
  std::uint32_t from = 0;  ///< Process number.
  std::uint32_t color = 0;
  std::span<const std::byte> bytes;
};

/// A view; the memory is the slice's. push(): any thread of any process.
/// front() and release(): one thread of the owner at a time.
class CommandRing {
 public:
  CommandRing(std::byte* slice, const protocol::HostHeader& header) noexcept
      : header_(reinterpret_cast<protocol::SliceHeader*>(slice)),
        places_(slice + header.ring_offset) {}

  /// kOk; kAgain when full; kTooLarge above protocol::kRingMessageBytes.
  [[nodiscard]] Status push(
      std::uint32_t from,
      std::uint32_t color,
      std::span<const std::span<const std::byte>> parts) noexcept;

  /// The oldest message; false when there is none.
  bool front(RingMessage& message) noexcept;
  /// Gives the oldest message's place back.
  void release() noexcept;
  bool is_empty() const noexcept;

 private:
  struct Place {
    std::atomic<std::uint64_t> sequence;  ///< Minus its index: zero at start.
    std::uint32_t from;
    std::uint32_t color;
    std::uint32_t size;
  };

  static_assert(sizeof(Place) <= 64);

  Place& place(std::uint64_t ticket) const noexcept {
    return *reinterpret_cast<Place*>(places_ + ticket % protocol::kRingSlots *
                                                   protocol::kRingSlotBytes);
  }

  static std::byte* payload(Place& place) noexcept {
    return reinterpret_cast<std::byte*>(&place) + 64;
  }

  /// The place's sequence; stored without its index so that zeroed memory is
  /// an empty ring.
  static std::uint64_t load_sequence(const Place& place,
                                     std::uint64_t ticket) noexcept {
    return place.sequence.load(std::memory_order_acquire) +
           ticket % protocol::kRingSlots;
  }

  protocol::SliceHeader* header_;
  std::byte* places_;
};

}  // namespace acp::shm
