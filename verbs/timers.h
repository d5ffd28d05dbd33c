// Times of connections. They say how long a device waits and how often it
// repeats, in InfiniBand's codes. They also say how long the launcher may take
// to tell of a death, and how long to wait between attempts to connect.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/clock.h"

namespace acp::verbs {

/// Times of all connections of a transport. A device repeats an unacknowledged
/// request after `ack_timeout`, up to `retries` times. Then the connection
/// fails, after (retries + 1) * ack_timeout_of(code).
struct Timers {
  std::chrono::milliseconds ack_timeout{1000};
  std::uint8_t retries = 6;  ///< 0 .. 7.
  /// How long a sender waits when the receiver had no buffer for a packet. It
  /// repeats this without limit.
  std::chrono::microseconds not_ready_delay{640};
  /// A peer that is gone is reported as failed after this time. The launcher
  /// can end the job before, and it describes a death better.
  std::chrono::milliseconds launcher_time{2000};
};

/// The code, 1 .. 31, of the shortest time that is not less than `timeout`:
/// 4.096 microseconds x 2^code.
std::uint8_t ack_timeout_code(std::chrono::milliseconds timeout) noexcept;
std::chrono::microseconds ack_timeout_of(std::uint8_t code) noexcept;

/// The code, 0 .. 31, of the shortest delay that is not less than `delay`: 10
/// microseconds to 655 milliseconds, two codes for each doubling.
std::uint8_t not_ready_code(std::chrono::microseconds delay) noexcept;
std::chrono::microseconds not_ready_delay_of(std::uint8_t code) noexcept;

/// Attempts to make a connection before the peer is given up.
inline constexpr std::uint32_t kConnectAttempts = 6;

/// Random numbers that depend on the seed alone: splitmix64. The header
/// <random> is too heavy for what every file of this folder includes. Guarded
/// by its owner: SharedState has one, under the engine's mutex.
class Jitter {
 public:
  explicit Jitter(std::uint64_t seed) noexcept : state_(seed) {}

  /// A number from 0 to `most`, which is at least 0.
  std::int64_t up_to(std::int64_t most) noexcept;

 private:
  std::uint64_t state_;  ///< Changed by each number that is drawn.
};

/// The delay after `attempts` failed attempts, at least 1: 50 milliseconds,
/// doubled with each, at most 2 seconds, times a random number from 0.5 to 1.5.
/// So ranks that failed together do not try again together.
Duration retry_delay(std::uint32_t attempts, Jitter& jitter) noexcept;

}  // namespace acp::verbs
