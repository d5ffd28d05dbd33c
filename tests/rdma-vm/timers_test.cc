// Tests of the codes by which devices take times (verbs/timers.h), and of the
// delays between attempts to connect. They need no device.
#include "verbs/timers.h"

#include <algorithm>

#include <catch2/catch.hpp>

using namespace std::chrono_literals;

namespace acp::verbs {

TEST_CASE("verbs timers: the shortest time that is long enough",
          "[verbs][timers]") {
  CHECK(ack_timeout_code(1ms) == 8);
  CHECK(ack_timeout_of(8) == 1'048us);
  CHECK(ack_timeout_code(2ms) == 9);
  CHECK(ack_timeout_code(1'000ms) == 18);
  CHECK(ack_timeout_of(18) == 1'073'741us);
  CHECK(ack_timeout_code(60'000ms) == 24);
  for (std::uint8_t code = 8; code <= 24; ++code) {
    const auto shorter =
        std::chrono::floor<std::chrono::milliseconds>(ack_timeout_of(code));
    CHECK(ack_timeout_code(shorter) == code);
    CHECK(ack_timeout_code(shorter + 1ms) == code + 1);
  }
}

TEST_CASE("verbs timers: the delay after a receiver was not ready",
          "[verbs][timers]") {
  CHECK(not_ready_code(10us) == 1);
  CHECK(not_ready_code(11us) == 2);
  CHECK(not_ready_code(640us) == 12);
  CHECK(not_ready_code(641us) == 13);
  CHECK(not_ready_code(491'520us) == 31);
  CHECK(not_ready_code(491'521us) == 0);
  CHECK(not_ready_delay_of(0) == 655'360us);
  for (std::uint8_t code = 1; code < 32; ++code) {
    CHECK(not_ready_code(not_ready_delay_of(code)) == code);
  }
}

TEST_CASE("verbs timers: attempts to connect come ever later, and scattered",
          "[verbs][timers]") {
  Jitter jitter(7);
  Duration base = 50ms;
  for (std::uint32_t attempts = 1; attempts < 12; ++attempts) {
    Duration shortest = Duration::max();
    Duration longest{};
    for (int i = 0; i < 1000; ++i) {
      const Duration delay = retry_delay(attempts, jitter);
      shortest = std::min(shortest, delay);
      longest = std::max(longest, delay);
    }
    CHECK(shortest >= base / 2);
    CHECK(longest <= base * 3 / 2);
    CHECK(longest - shortest > base * 9 / 10);
    base = std::min<Duration>(base * 2, 2s);
  }
}

}  // namespace acp::verbs
