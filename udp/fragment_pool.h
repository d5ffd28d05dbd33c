// Buffers for fragments, and the rings in which senders keep unacknowledged
// ones. One pool serves all streams of a transport, so a silent peer costs no
// memory and a busy one allocates nothing.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/clock.h"
#include "udp/packet.h"

namespace acp::udp {

/// One datagram that was sent.
struct Transmission {
  /// Number in the stream. Acks and size probes are counted, too.
  std::uint64_t txno = 0;
  /// Number among the stream's transmissions of fragments, from 1.
  std::uint64_t ordinal = 0;
  TimePoint sent{};
};

/// A buffer with room for a whole datagram, and the state of its fragment.
/// Owned by the pool. The Sender or Receiver that acquired it writes all fields
/// until it releases the fragment. Guarded by the engine's mutex.
struct Fragment {
  static constexpr std::size_t kEarlier = 8;

  enum class State : std::uint8_t {
    kOpen,      ///< More messages may be appended.
    kPending,   ///< Has to be sent or retransmitted.
    kInFlight,  ///< Sent and not acknowledged.
  };

  /// Next in the list that it is in. The owner of that list writes it.
  Fragment* next = nullptr;
  std::byte* storage = nullptr;  ///< Start of the buffer.
  std::byte* payload = nullptr;  ///< In `storage`, behind the header's room.
  std::size_t payload_bytes = 0;
  std::span<const std::byte> tail{};  ///< Rest of the payload, in user memory.
  std::uint64_t seq = 0;            ///< Number in the stream, from the Sender.
  Transmission last;                ///< Valid if transmissions > 0.
  std::uint32_t transmissions = 0;  ///< So many datagrams have carried it.
  std::uint32_t messages = 0;       ///< In the payload; only the Sender's.
  State state = State::kOpen;       ///< Only the Sender's.
  bool is_ordered = false;          ///< A message in it asked for order.
  bool tail_may_go = false;    ///< The program may unmap it; only the Sender's.
  bool was_overtaken = false;  ///< Last loss: seen by order, not time-out.
  /// Where the size of the tail's message stands in the payload.
  std::uint32_t tail_message = 0;
  /// An ack may name any transmission. [0] is the first; the others are the
  /// latest ones before `last`, as a ring.
  std::array<Transmission, kEarlier> earlier{};

  std::span<std::byte> bytes() const noexcept {
    return {payload, payload_bytes};
  }

  std::size_t size() const noexcept { return payload_bytes + tail.size(); }

  void add_transmission(const Transmission& transmission) noexcept {
    if (transmissions > 0) {
      const std::size_t before = transmissions - 1;
      earlier[before == 0 ? 0 : 1 + (before - 1) % (kEarlier - 1)] = last;
    }
    last = transmission;
    ++transmissions;
  }

  /// Null when the fragment was never sent as `txno`, or that transmission is
  /// no longer remembered.
  const Transmission* find_transmission(std::uint64_t txno) const noexcept {
    if (last.txno == txno) {
      return transmissions > 0 ? &last : nullptr;
    }
    const std::size_t count = std::min<std::size_t>(
        transmissions > 0 ? transmissions - 1 : 0, kEarlier);
    for (std::size_t i = 0; i < count; ++i) {
      if (earlier[i].txno == txno) {
        return &earlier[i];
      }
    }
    return nullptr;
  }
};

/// Unacknowledged fragments of a stream, by seq modulo the window. nullptr:
/// acknowledged, or not made yet.
struct SendRing {
  /// Written by the Sender that has acquired the ring.
  std::array<Fragment*, kWindowFragments> fragments{};
  /// Next in the pool's list of free rings. Written by the pool.
  SendRing* next = nullptr;

  Fragment*& operator[](std::uint64_t seq) noexcept {
    return fragments[seq % kWindowFragments];
  }
};

/// Guarded by the engine's mutex. Outlives everything that it lent.
class FragmentPool {
 public:
  /// Fragments for datagrams of `datagram_bytes`, at most `max_fragments`.
  /// Memory is allocated in slabs when needed, and freed with the pool.
  FragmentPool(std::size_t datagram_bytes, std::size_t max_fragments);

  /// An empty fragment; nullptr when all are in use or memory is exhausted.
  Fragment* acquire() noexcept;
  void release(Fragment* fragment) noexcept;

  /// A ring whose entries are all nullptr; nullptr when memory is exhausted.
  /// All entries must be nullptr again when the ring is released.
  SendRing* acquire_ring() noexcept;
  void release_ring(SendRing* ring) noexcept;

  /// Where to receive a datagram, so that its payload is 8-byte aligned.
  std::span<std::byte> receive_area(const Fragment& fragment) const noexcept {
    return {fragment.storage + kSackBytes, datagram_bytes_};
  }

  std::size_t datagram_bytes() const noexcept { return datagram_bytes_; }

  std::size_t in_use() const noexcept { return in_use_; }

 private:
  bool grow() noexcept;

  // The constructor alone writes these sizes.
  std::size_t datagram_bytes_;
  std::size_t storage_bytes_;
  std::size_t max_fragments_;

  std::size_t made_ = 0;  ///< Fragments in all slabs; grow() adds to it.
  // Fragments that are lent, and the list of the others. Written by acquire()
  // and release(); grow() adds to the list.
  std::size_t in_use_ = 0;
  Fragment* free_ = nullptr;
  /// List of rings that are not lent. Written by acquire_ring() and
  /// release_ring().
  SendRing* free_rings_ = nullptr;
  // The memory, freed with the pool. grow() adds to the first two, and
  // acquire_ring() to the rings.
  std::vector<std::unique_ptr<std::byte[]>> storages_;
  std::vector<std::unique_ptr<Fragment[]>> fragments_;
  std::vector<std::unique_ptr<SendRing>> rings_;
};

}  // namespace acp::udp
