#include <catch2/catch.hpp>

#include "udp/rtt.h"

namespace acp::udp {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_CASE("udp rtt: the time-out is clamped and doubles", "[udp][rtt]") {
  RttEstimator rtt;
  CHECK(rtt.rto(kMinRto, 0) == kInitialRto);
  rtt.add_sample(microseconds(4));
  CHECK(rtt.rto(kMinRto, 0) == kMinRto);
  CHECK(rtt.rto(kMinRto, 1) == 2 * kMinRto);
  CHECK(rtt.rto(kMinRto, 7) == 128 * kMinRto);
  CHECK(rtt.rto(kMinRto, 8) == kMaxRto);
  CHECK(rtt.rto(kMinRto, 1000) == kMaxRto);
  CHECK(rtt.rto(kMinRtoOversubscribed, 0) == milliseconds(20));
  for (int i = 0; i < 100; ++i) {
    rtt.add_sample(seconds(3));
  }
  CHECK(rtt.rto(kMinRto, 0) == kMaxRto);
}

TEST_CASE("udp rtt: mean plus four deviations", "[udp][rtt]") {
  RttEstimator rtt;
  rtt.add_sample(milliseconds(40));
  CHECK(rtt.smoothed() == milliseconds(40));
  CHECK(rtt.rto(kMinRto, 0) == milliseconds(40 + 4 * 20));
  rtt.add_sample(milliseconds(48));
  // deviation 20 + (8 - 20) / 4 = 17, mean 40 + 8 / 8 = 41
  CHECK(rtt.smoothed() == milliseconds(41));
  CHECK(rtt.rto(kMinRto, 0) == milliseconds(41 + 4 * 17));
}

TEST_CASE("udp rtt: a sample that is no time counts as one tick",
          "[udp][rtt]") {
  RttEstimator rtt;
  rtt.add_sample(microseconds(-5));
  CHECK(rtt.has_sample());
  CHECK(rtt.smoothed() > Duration::zero());
}

}  // namespace acp::udp
