// ReplayWindow against a set of all numbers that were taken.
#include <cstdint>
#include <random>
#include <set>

#include <catch2/catch.hpp>

#include "udp/replay_window.h"

namespace acp::udp {

TEST_CASE("udp replay window: takes each number once", "[udp][replay]") {
  ReplayWindow window;
  for (std::uint64_t txno = 1; txno < 1000; ++txno) {
    REQUIRE(window.is_new(txno));
    window.take(txno);
    REQUIRE_FALSE(window.is_new(txno));
  }
}

TEST_CASE("udp replay window: late numbers are taken up to its size",
          "[udp][replay]") {
  ReplayWindow window;
  window.take(1000);
  CHECK(window.is_new(1000 - ReplayWindow::kReplayWindow + 1));
  CHECK_FALSE(window.is_new(1000 - ReplayWindow::kReplayWindow));
  CHECK_FALSE(window.is_new(1));
  window.take(1'000'000);
  CHECK_FALSE(window.is_new(1000));
  CHECK(window.is_new(999'999));
}

// A set of all numbers that were taken is the model. Some seeds move the window
// slowly and some in leaps.
TEST_CASE("udp replay window: agrees with a set in any order",
          "[udp][replay]") {
  for (std::uint32_t seed = 1; seed <= 50; ++seed) {
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    ReplayWindow window;
    std::set<std::uint64_t> taken;
    std::uint64_t newest = 0;
    std::uint64_t middle = 1;
    for (int i = 0; i < 5000; ++i) {
      middle += random() % (seed % 2 == 0 ? 3 : 200);
      const std::uint64_t txno = middle + random() % 400;
      const bool is_new =
          txno > newest || (newest - txno < ReplayWindow::kReplayWindow &&
                            !taken.contains(txno));
      REQUIRE(window.is_new(txno) == is_new);
      if (is_new) {
        window.take(txno);
        taken.insert(txno);
        newest = std::max(newest, txno);
      }
    }
  }
}

}  // namespace acp::udp
