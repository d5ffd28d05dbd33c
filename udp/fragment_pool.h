// Buffers for fragments, and the windows that hold those under way: one
// supply for all streams of a transport, so that a silent peer costs nothing
// and a busy one no allocation.
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

/// One datagram on its way.
struct Transmission {
  std::uint64_t txno = 0;
  std::uint64_t ordinal = 0;  ///< The same, counted within the stream.
  TimePoint sent{};
};

/// A datagram's buffer, with room for all of it, and what its stream knows.
/// Owned by the pool; used by whoever acquired it until released.
struct Fragment {
  static constexpr std::size_t kEarlier = 8;

  enum class State : std::uint8_t {
    kOpen,      ///< Takes more messages.
    kPending,   ///< To be sent, or sent again.
    kInFlight,  ///< Sent, and nothing heard of it.
  };

  Fragment* next = nullptr;      ///< For lists of whoever owns it.
  std::byte* storage = nullptr;  ///< Start of the buffer.
  std::byte* payload = nullptr;
  std::size_t payload_bytes = 0;
  std::span<const std::byte> tail{};  ///< The rest, in its sender's memory.
  std::uint64_t seq = 0;
  Transmission last;  ///< Valid when there was one.
  std::uint32_t transmissions = 0;
  State state = State::kOpen;
  bool is_ordered = false;
  bool was_overtaken = false;  ///< So it is sent again; else after a time-out.
  /// The first, and the latest of those between it and the last: an ack may
  /// name any of them.
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

  /// Nothing when it was never sent as `txno`, or too many times since.
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

/// Fragments under way by seq modulo the window; nullptr: acknowledged.
struct SendRing {
  std::array<Fragment*, kWindowFragments> fragments{};
  SendRing* next = nullptr;

  Fragment*& operator[](std::uint64_t seq) noexcept {
    return fragments[seq % kWindowFragments];
  }
};

/// Not thread-safe; lives longer than everything that it gave out.
class FragmentPool {
 public:
  /// Fragments for datagrams of `datagram_bytes`, at most `max_fragments`.
  /// Memory is taken in slabs as it is needed and kept.
  FragmentPool(std::size_t datagram_bytes, std::size_t max_fragments);

  /// An empty fragment; nullptr when all are in use or memory is exhausted.
  Fragment* acquire() noexcept;
  void release(Fragment* fragment) noexcept;

  /// A ring of nullptr; nullptr when memory is exhausted. Give it back with
  /// every slot nullptr again.
  SendRing* acquire_ring() noexcept;
  void release_ring(SendRing* ring) noexcept;

  /// Where a datagram is received so that its payload is 8-byte aligned.
  std::span<std::byte> receive_area(const Fragment& fragment) const noexcept {
    return {fragment.storage + kSackBytes, datagram_bytes_};
  }

  std::size_t datagram_bytes() const noexcept { return datagram_bytes_; }

  std::size_t in_use() const noexcept { return in_use_; }

 private:
  bool grow() noexcept;

  std::size_t datagram_bytes_;
  std::size_t storage_bytes_;
  std::size_t max_fragments_;
  std::size_t made_ = 0;
  std::size_t in_use_ = 0;
  Fragment* free_ = nullptr;
  SendRing* free_rings_ = nullptr;
  std::vector<std::unique_ptr<std::byte[]>> storages_;
  std::vector<std::unique_ptr<Fragment[]>> fragments_;
  std::vector<std::unique_ptr<SendRing>> rings_;
};

}  // namespace acp::udp
