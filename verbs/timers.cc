// Codes for times, and the delay between attempts. Called by the parts of
// Endpoint that connect and grow. Pure but for the state of the random numbers;
// it starts no timer.
#include "verbs/timers.h"

#include <algorithm>
#include <array>

namespace acp::verbs {

namespace {

constexpr std::uint8_t kLastCode = 31;

constexpr Duration kFirstDelay = std::chrono::milliseconds(50);
constexpr Duration kLongestDelay = std::chrono::seconds(2);

/// In microseconds, by code, from the InfiniBand specification. Code 0 is the
/// longest.
constexpr std::array<std::uint32_t, kLastCode + 1> kNotReadyDelays = {
    655'360, 10,     20,     30,      40,      60,      80,      120,
    160,     240,    320,    480,     640,     960,     1'280,   1'920,
    2'560,   3'840,  5'120,  7'680,   10'240,  15'360,  20'480,  30'720,
    40'960,  61'440, 81'920, 122'880, 163'840, 245'760, 327'680, 491'520};

}  // namespace

std::chrono::microseconds ack_timeout_of(std::uint8_t code) noexcept {
  return std::chrono::microseconds((std::uint64_t{4'096} << code) / 1'000);
}

std::uint8_t ack_timeout_code(std::chrono::milliseconds timeout) noexcept {
  std::uint8_t code = 1;
  while (code < kLastCode && ack_timeout_of(code) < timeout) {
    ++code;
  }
  return code;
}

std::chrono::microseconds not_ready_delay_of(std::uint8_t code) noexcept {
  return std::chrono::microseconds(kNotReadyDelays[code & kLastCode]);
}

std::uint8_t not_ready_code(std::chrono::microseconds delay) noexcept {
  std::uint8_t code = 1;
  while (code <= kLastCode && not_ready_delay_of(code) < delay) {
    ++code;
  }
  return code <= kLastCode ? code : std::uint8_t{0};
}

std::int64_t Jitter::up_to(std::int64_t most) noexcept {
  state_ += 0x9e3779b97f4a7c15U;
  std::uint64_t mixed = state_;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9U;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebU;
  mixed ^= mixed >> 31;
  return static_cast<std::int64_t>(mixed %
                                   (static_cast<std::uint64_t>(most) + 1));
}

Duration retry_delay(std::uint32_t attempts, Jitter& jitter) noexcept {
  Duration delay = kFirstDelay;
  for (std::uint32_t i = 1; i < attempts && delay < kLongestDelay; ++i) {
    delay *= 2;
  }
  delay = std::min(delay, kLongestDelay);
  return delay / 2 + Duration(jitter.up_to(delay.count()));
}

}  // namespace acp::verbs
