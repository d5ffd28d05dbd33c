// Limits and times that all streams of a transport share: how much a stream may
// send, and how long it waits. Sender and Receiver refer to them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/clock.h"
#include "udp/grant_budget.h"
#include "udp/rtt.h"

namespace acp::udp {

/// The constructor of UdpTransport sets all fields. Only longest_rtt changes
/// later, and the engine's mutex guards it.
struct StreamLimits {
  std::size_t fragment_bytes = 0;  ///< Largest payload of a fragment.
  std::uint64_t window_bytes = 0;  ///< Unacknowledged, see charge().
  bool is_window_fixed = false;    ///< Also on paths that leave the host.
  /// Unacknowledged charged bytes before the peer has granted any.
  std::uint64_t first_grant = kFirstGrant;
  std::uint32_t max_held_fragments = 64;  ///< Early ordered fragments kept.
  std::uint64_t first_seq = 0;            ///< Equal on both sides.
  Duration rto_floor = kMinRto;
  /// kCoreBoundRanks or more ranks share a core. Then a round trip is mostly
  /// the time until the peer gets a core, which is alike for all streams.
  bool is_core_bound = false;
  /// Over all streams: each Sender adds its samples, and UdpTransport the times
  /// that this process has waited for a core.
  LongestRtt longest_rtt{};
  /// A peer that owes an ack, and from which no valid packet has come for this
  /// long, counts as dead; 0: never.
  Duration silence = std::chrono::seconds(10);
};

/// Time-outs that must also have passed before a peer counts as dead. A process
/// that was itself stopped therefore asks again before it judges.
inline constexpr std::uint32_t kDeathTimeouts = 8;

/// RTO of a stream without samples, from samples of other streams. If ranks
/// share cores, all streams use it as their least RTO. A stream that sends
/// little would otherwise learn only by retransmissions that the host is busy.
inline Duration first_rto(const StreamLimits& limits) noexcept {
  return std::max(limits.longest_rtt.rto(limits.rto_floor), kInitialRto);
}

/// Silence after which a peer that this process waits for is probed.
inline constexpr Duration kQuiet = std::chrono::seconds(1);

/// How long an ack waits for a data packet to carry it.
inline constexpr Duration kAckDelay = std::chrono::microseconds(250);
/// Fragments after which an ack goes at once.
inline constexpr std::uint32_t kAckEvery = 16;

}  // namespace acp::udp
