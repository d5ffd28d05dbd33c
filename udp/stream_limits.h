// How much one stream may have under way and how long it waits; the same for
// all streams of a transport.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/clock.h"
#include "udp/rtt.h"

namespace acp::udp {

struct StreamLimits {
  std::size_t fragment_bytes = 0;  ///< Payload of one fragment at most.
  std::uint64_t window_bytes = 0;  ///< Charged bytes under way, see charge().
  std::uint32_t max_held_fragments = 64;  ///< Early ordered fragments kept.
  std::uint64_t first_seq = 0;            ///< The same on both sides.
  Duration rto_floor = kMinRto;
  /// Many ranks share a core (kCoreBoundRanks). Then a round trip is mostly the
  /// time until the peer gets a core, and one stream's tells what another's
  /// will be.
  bool is_core_bound = false;
  /// Over all streams; they add what they measure.
  LongestRtt longest_rtt{};
  /// Silence of a peer that owes an ack before it is taken for dead; 0: never.
  Duration silence = std::chrono::seconds(10);
};

/// How many transmissions it must have left unanswered by then: a process that
/// was itself stopped for a while asks again first.
inline constexpr std::uint32_t kDeathTimeouts = 8;

/// Streams begin with what others have measured. On a host whose ranks share
/// cores all streams keep to it: a rank to which little is sent would else find
/// out by itself, with retransmissions, that the host has become busy.
inline Duration first_rto(const StreamLimits& limits) noexcept {
  return std::max(limits.longest_rtt.rto(limits.rto_floor), kInitialRto);
}

/// A peer that is waited for is asked for a sign of life after this.
inline constexpr Duration kQuiet = std::chrono::seconds(1);

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
