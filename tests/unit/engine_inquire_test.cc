// Tests when acp_inquire makes a pass: a program may look at its own memory
// between two calls, for a put that only a pass takes from the network.
#include <catch2/catch.hpp>

#include "gma/progress_step_scope.h"
#include "support/messages.h"
#include "unit/engine_world.h"

namespace acp::gma {

namespace {

/// Has the next pass take the answer to the oldest message to the peer.
void answer_at_next_pass(EngineUnderTest& rank) {
  const auto message = rank.endpoint().take();
  const auto request = protocol::decode_request(message);
  REQUIRE(request.has_value());
  const auto old = test::word_bytes(0);
  rank.arrive_at_next_pass(
      [&rank,
       reply = test::reply_message(request->header.id, Status::kOk, 0, old)] {
        rank.engine.runner().on_reply(reply);
      });
}

Handle newest(const EngineUnderTest& rank) {
  return rank.engine.queue().issued();
}

}  // namespace

TEST_CASE("engine: acp_inquire with nothing under way takes what has arrived",
          "[gma][engine][inquire]") {
  EngineUnderTest rank;
  const Handle handle =
      GENERATE(kHandleNull, kHandleAll, kHandleCont, Handle{1} << 40);
  for (int call = 1; call < 4; ++call) {
    bool has_arrived = false;
    rank.arrive_at_next_pass([&] { has_arrived = true; });
    CHECK(rank.engine.is_complete(handle));
    CHECK(has_arrived);
    CHECK(rank.caller_passes() == call);
  }
}

TEST_CASE("engine: acp_inquire of an operation under way makes one pass",
          "[gma][engine][inquire]") {
  EngineUnderTest rank;
  rank.issue_signal();
  CHECK_FALSE(rank.engine.is_complete(newest(rank)));
  CHECK(rank.caller_passes() == 1);
  SECTION("also when that pass completes it") {
    answer_at_next_pass(rank);
    CHECK(rank.engine.is_complete(newest(rank)));
  }
  SECTION("also when it does not") {
    CHECK_FALSE(rank.engine.is_complete(kHandleAll));
  }
  CHECK(rank.caller_passes() == 2);
}

TEST_CASE("engine: acp_inquire that sees a completion first makes no pass",
          "[gma][engine][inquire]") {
  EngineUnderTest rank;
  rank.issue_signal();
  answer_at_next_pass(rank);
  rank.pass(Arrivals::kSome);  // by another thread
  CHECK(rank.engine.is_complete(newest(rank)));
  CHECK(rank.caller_passes() == 0);
  CHECK(rank.engine.is_complete(newest(rank)));
  CHECK(rank.caller_passes() == 1);
}

// A layer that has issued several operations asks once for each, and may have
// messages that wait for the next one.
TEST_CASE(
    "engine: acp_inquire of one complete operation after another makes no "
    "pass",
    "[gma][engine][inquire]") {
  EngineUnderTest rank;
  rank.issue_signal();
  const Handle first = newest(rank);
  rank.issue_signal();
  for (int i = 0; i < 2; ++i) {
    answer_at_next_pass(rank);
    rank.pass(Arrivals::kSome);  // by another thread
  }
  for (int round = 0; round < 3; ++round) {
    CHECK(rank.engine.is_complete(first));
    CHECK(rank.engine.is_complete(newest(rank)));
  }
  CHECK(rank.caller_passes() == 0);
}

TEST_CASE("engine: acp_inquire makes no pass inside a progress step",
          "[gma][engine][inquire]") {
  EngineUnderTest rank;
  const ProgressStepScope step;
  CHECK(rank.engine.is_complete(kHandleAll));
  rank.issue_signal();
  CHECK_FALSE(rank.engine.is_complete(newest(rank)));
  CHECK(rank.caller_passes() == 0);
}

}  // namespace acp::gma
