// RttEstimator alone: retransmission time-outs from samples of round trips.
#include <catch2/catch.hpp>

#include "udp/rtt.h"

namespace acp::udp {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_CASE("udp rtt: the time-out is clamped and doubles", "[udp][rtt]") {
  RttEstimator rtt;
  CHECK(rtt.rto(kMinRto) == kInitialRto);
  rtt.add_sample(microseconds(4));
  CHECK(rtt.rto(kMinRto) == kMinRto + microseconds(4));
  CHECK(backed_off(kMinRto, 0) == kMinRto);
  CHECK(backed_off(kMinRto, 1) == 2 * kMinRto);
  CHECK(backed_off(kMinRto, 7) == 128 * kMinRto);
  CHECK(backed_off(kMinRto, 8) == kMaxBackoff);
  CHECK(backed_off(kMinRto, 1000) == kMaxBackoff);
  CHECK(backed_off(kMaxRto, 3) == kMaxRto);
  for (int i = 0; i < 100; ++i) {
    rtt.add_sample(seconds(5));
  }
  CHECK(rtt.rto(kMinRto) == kMaxRto);
}

TEST_CASE("udp rtt: ranks that share a core wait for each other's turns",
          "[udp][rtt]") {
  CHECK(rto_floor(0) == kMinRto);
  CHECK(rto_floor(1) == kMinRto);
  CHECK(rto_floor(2) == kMinRtoOversubscribed);
  CHECK(rto_floor(64) == milliseconds(512));
  CHECK(rto_floor(100'000) == kMaxBackoff);
}

TEST_CASE("udp rtt: mean plus four deviations, or plus the floor",
          "[udp][rtt]") {
  RttEstimator rtt;
  rtt.add_sample(milliseconds(40));
  CHECK(rtt.smoothed() == milliseconds(40));
  CHECK(rtt.rto(kMinRto) == milliseconds(40 + 4 * 20));
  rtt.add_sample(milliseconds(48));
  // deviation 20 + (8 - 20) / 4 = 17, mean 40 + 8 / 8 = 41
  CHECK(rtt.smoothed() == milliseconds(41));
  CHECK(rtt.rto(kMinRto) == milliseconds(41 + 4 * 17));
  for (int i = 0; i < 1000; ++i) {
    rtt.add_sample(milliseconds(48));
  }
  CHECK(rtt.rto(kMinRto) > milliseconds(52));
}

TEST_CASE("udp rtt: a time-out that came too early widens the next",
          "[udp][rtt]") {
  RttEstimator rtt;
  rtt.add_sample(milliseconds(1));
  rtt.widen(milliseconds(100));
  CHECK(rtt.rto(kMinRto) == milliseconds(100 + 4 * 50));
  rtt.widen(milliseconds(10));
  CHECK(rtt.rto(kMinRto) == milliseconds(100 + 4 * 50));
}

TEST_CASE("udp rtt: the longest round trip rises at once and falls slowly",
          "[udp][rtt]") {
  LongestRtt longest;
  CHECK(longest.rto(kMinRto) == kMinRto);
  longest.add_sample(milliseconds(640));
  longest.add_sample(milliseconds(0));
  CHECK(longest.rto(kMinRto) == milliseconds(2 * 630));
  longest.add_stall(milliseconds(100));
  CHECK(longest.rto(kMinRto) == milliseconds(2 * 630));
  longest.add_stall(seconds(60));
  CHECK(longest.rto(kMinRto) == kMaxRto);
}

TEST_CASE("udp rtt: a sample that is no time counts as one tick",
          "[udp][rtt]") {
  RttEstimator rtt;
  rtt.add_sample(microseconds(-5));
  CHECK(rtt.has_sample());
  CHECK(rtt.smoothed() > Duration::zero());
}

}  // namespace acp::udp
