// Tests when a pass of progress leaves the reply to a signal to the next pass.
// docs/udp.md, "Batching".
#include <catch2/catch.hpp>

#include "unit/engine_world.h"

namespace acp::gma {

TEST_CASE("engine: the pass after a signal sends what that one left",
          "[gma][engine]") {
  EngineUnderTest rank;
  rank.pass(Arrivals::kSignal);
  CHECK(rank.flushes() == 0);
  SECTION("when nothing comes") {
    rank.pass(Arrivals::kNone);
  }
  SECTION("when another signal comes") {
    rank.pass(Arrivals::kSignal);
  }
  CHECK(rank.flushes() == 1);
}

TEST_CASE("engine: peers that were served are no arrival", "[gma][engine]") {
  EngineUnderTest rank;
  CHECK(rank.pass(Arrivals::kServed) == Arrivals::kServed);
  CHECK(rank.pass(Arrivals::kSome) == Arrivals::kSome);
  CHECK(rank.pass(Arrivals::kNone) == Arrivals::kNone);
  CHECK(rank.flushes() == 3);
}

TEST_CASE("engine: a signal issued takes along what a pass left",
          "[gma][engine]") {
  // The peer is ahead. Its next signal is there with the first pass after each
  // of ours, and its reply has to wait for ours again.
  EngineUnderTest rank;
  for (int exchange = 1; exchange < 5; ++exchange) {
    rank.pass(Arrivals::kSignal);
    CHECK(rank.flushes() == exchange - 1);
    rank.issue_signal();
    CHECK(rank.flushes() == exchange);
  }
}

TEST_CASE("engine: what is held wakes nobody until it is sent",
          "[gma][engine]") {
  EngineUnderTest rank;
  rank.issue_signal(Departure::kHeld);
  rank.issue_signal(Departure::kHeld);
  CHECK(rank.flushes() == 0);
  CHECK(rank.wakes_for_deadline() == 0);
  SECTION("by the caller") {
    rank.engine.send_kept();
  }
  SECTION("with what is issued next") {
    rank.issue_signal();
  }
  SECTION("by a pass") {
    rank.pass(Arrivals::kNone);
  }
  CHECK(rank.flushes() == 1);
  CHECK(rank.wakes_for_deadline() == 1);
}

TEST_CASE("engine: a message that may wait tells the sleeper its deadline",
          "[gma][engine]") {
  EngineUnderTest rank;
  rank.issue_signal(Departure::kLater);
  CHECK(rank.flushes() == 0);
  CHECK(rank.wakes_for_deadline() == 1);
}

TEST_CASE("engine: a pass that leaves something tells the sleeper its deadline",
          "[gma][engine]") {
  EngineUnderTest rank;
  rank.pass(Arrivals::kSignal);
  CHECK(rank.flushes() == 0);
  CHECK(rank.wakes_for_deadline() == 1);
}

TEST_CASE("engine: a signal of the runtime takes along what a pass left",
          "[gma][engine]") {
  // Each signal takes along the messages of a pass, not every second one.
  EngineUnderTest rank;
  for (unsigned exchange = 1; exchange < 5; ++exchange) {
    rank.pass(Arrivals::kSignal);
    CHECK(rank.engine.deferred_flushes() == exchange);
    rank.start_internal_signal();
    CHECK(rank.flushes() == static_cast<int>(exchange));
  }
}

}  // namespace acp::gma
