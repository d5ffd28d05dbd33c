// How much one stream may have under way and how long it waits; the same for
// all streams of a transport.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/clock.h"
#include "udp/rtt.h"

namespace acp::udp {

struct StreamLimits {
  std::size_t fragment_bytes = 0;  ///< Payload of one fragment at most.
  std::uint64_t window_bytes = 0;  ///< Charged bytes under way, see charge().
  std::uint32_t hold_fragments = 64;  ///< Early ordered fragments kept.
  std::uint64_t first_seq = 0;        ///< The same on both sides.
  Duration rto_floor = kMinRto;
  /// Silence of a peer that owes an ack before it is taken for dead; 0: never.
  Duration silence = std::chrono::seconds(10);
};

/// How many transmissions it must have left unanswered by then: a process that
/// was itself stopped for a while asks again first.
inline constexpr std::uint32_t kDeathTimeouts = 8;

/// How long an ack waits for a packet that it can ride on.
inline constexpr Duration kAckDelay = std::chrono::microseconds(250);
/// Fragments after which it does not wait.
inline constexpr std::uint32_t kAckEvery = 16;

/// What a fragment costs of a receive buffer: the kernel keeps about this
/// much of its own for each datagram.
constexpr std::uint64_t charge(std::size_t payload_bytes) noexcept {
  return payload_bytes + 1024;
}

}  // namespace acp::udp
