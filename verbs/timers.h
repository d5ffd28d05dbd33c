// How long devices wait, and how often they repeat, before a connection fails:
// InfiniBand has codes for times, which these functions choose. And how long
// this process waits until it tries again to connect.
#pragma once

#include <chrono>
#include <cstdint>
#include <random>

#include "base/clock.h"

namespace acp::verbs {

/// For all connections of a transport. A device repeats a request that nobody
/// has acknowledged after `ack_timeout`, `retries` times, and then the
/// connection fails: after (retries + 1) * ack_timeout_of(code).
struct Timers {
  std::chrono::milliseconds ack_timeout{1000};
  std::uint8_t retries = 6;  ///< 0 .. 7.
  /// How long a sender waits whose receiver had no buffer for a packet. It
  /// repeats that as often as it takes.
  std::chrono::microseconds not_ready_delay{640};
};

/// The code of the shortest time that is at least as long, 1 .. 31: 4.096
/// microseconds times 2 to the power of the code.
std::uint8_t ack_timeout_code(std::chrono::milliseconds timeout) noexcept;
std::chrono::microseconds ack_timeout_of(std::uint8_t code) noexcept;

/// The code of the shortest delay that is at least as long, 0 .. 31: from 10
/// microseconds to 655 milliseconds, two for each doubling.
std::uint8_t not_ready_code(std::chrono::microseconds delay) noexcept;
std::chrono::microseconds not_ready_delay_of(std::uint8_t code) noexcept;

/// Attempts to make a connection, of which all but the last may fail.
inline constexpr std::uint32_t kConnectAttempts = 6;

/// How long to wait when so many attempts have failed, at least 1: 50
/// milliseconds, doubled with each, 2 seconds at most; times a random number
/// from 0.5 to 1.5. Ranks that failed together do not come back together.
Duration retry_delay(std::uint32_t attempts, std::minstd_rand& random) noexcept;

}  // namespace acp::verbs
