// Tests when acprun counts its own stop as the cause of the ends of other
// hosts.
#include "launcher/own_stop.h"

#include <catch2/catch.hpp>

using namespace acp::launcher;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr OwnStop::Clock::time_point kStart{seconds(1000)};

}  // namespace

TEST_CASE("own stop: a process that runs has no stop", "[launcher]") {
  OwnStop stop(kStart);
  for (int turn = 1; turn < 100; ++turn) {
    const auto now = stop.next();
    stop.note_turn(now);
    CHECK_FALSE(stop.cause_at(now));
  }
}

TEST_CASE("own stop: explains the ends that are known soon after it",
          "[launcher]") {
  OwnStop stop(kStart);
  const auto ended = kStart + seconds(47);
  stop.note_turn(ended);
  REQUIRE(stop.cause_at(ended));
  CHECK(*stop.cause_at(ended) == seconds(47));
  stop.note_turn(ended + milliseconds(100));
  CHECK(stop.cause_at(ended + seconds(2)));
  CHECK_FALSE(stop.cause_at(ended + seconds(4)));
}

TEST_CASE("own stop: a short one ends no host", "[launcher]") {
  OwnStop stop(kStart);
  stop.note_turn(kStart + seconds(8));
  CHECK_FALSE(stop.cause_at(kStart + seconds(8)));
}

TEST_CASE("own stop: one that other hosts know of is no cause", "[launcher]") {
  OwnStop stop(kStart);
  stop.forgive(kStart + seconds(47));
  stop.note_turn(kStart + seconds(47));
  CHECK_FALSE(stop.cause_at(kStart + seconds(47)));
}
