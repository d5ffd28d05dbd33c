// Each transition of the table in runtime/progress.h.
#include "runtime/progress_states.h"

#include <algorithm>

#include <catch2/catch.hpp>

namespace acp::runtime {

namespace {

using State = ProgressStates::State;
using Pass = ProgressStates::Pass;
using Sight = ProgressStates::Sight;

/// The states with the callers that they see.
struct StatesUnderTest {
  ProgressStates states;
  Sight sight;

  ProgressStates::Next before() { return states.before_pass(sight); }

  ProgressStates::Next after(Pass pass) {
    return states.after_pass(pass, sight);
  }
};

}  // namespace

TEST_CASE("progress states: without callers it polls, then falls asleep",
          "[runtime][progress]") {
  StatesUnderTest rank;
  CHECK(rank.before().state == State::kPolling);
  CHECK(rank.after(Pass::kMoved).state == State::kPolling);
  CHECK(rank.after(Pass::kNothing).state == State::kAsleep);
}

TEST_CASE("progress states: it naps while a caller waits and polls",
          "[runtime][progress]") {
  StatesUnderTest rank;
  rank.sight = {1, 1};
  Duration nap = ProgressStates::kShortNap;
  for (int i = 0; i < 8; ++i) {
    ++rank.sight.passes;
    const auto next = rank.before();
    CHECK(next.state == State::kNapping);
    CHECK(next.nap == nap);
    CHECK(next.detaches);
    nap = std::min(2 * nap, ProgressStates::kTick);
  }
  CHECK(nap == ProgressStates::kTick);
  // It waits, but makes no pass: the thread makes one after each nap.
  CHECK(rank.before().state == State::kPolling);
  CHECK(rank.after(Pass::kNothing).state == State::kNapping);
  CHECK(rank.before().state == State::kPolling);
}

TEST_CASE("progress states: callers that poll do not keep it from wanted steps",
          "[runtime][progress]") {
  StatesUnderTest rank;
  rank.sight = {1, 1};
  CHECK(rank.before().state == State::kNapping);
  ++rank.sight.passes;
  rank.sight.steps_are_wanted = true;
  CHECK(rank.before().state == State::kPolling);
  rank.sight.steps_are_wanted = false;
  CHECK(rank.before().state == State::kNapping);
}

TEST_CASE("progress states: naps are short again when something has waited",
          "[runtime][progress]") {
  StatesUnderTest rank;
  rank.sight = {1, 1};
  CHECK(rank.before().nap == ProgressStates::kShortNap);
  ++rank.sight.passes;
  CHECK(rank.before().nap == 2 * ProgressStates::kShortNap);
  rank.sight.awake = 0;
  const auto found = GENERATE(Pass::kMoved, Pass::kNothing);
  CHECK(rank.after(found).state ==
        (found == Pass::kMoved ? State::kPolling : State::kAsleep));
  rank.sight = {3, 1};
  CHECK(rank.before().nap == ProgressStates::kShortNap);
}

TEST_CASE("progress states: what a caller without a core left keeps naps long",
          "[runtime][progress]") {
  StatesUnderTest rank;
  rank.sight = {1, 1};
  CHECK(rank.before().nap == ProgressStates::kShortNap);
  CHECK(rank.after(Pass::kMoved).state == State::kPolling);
  ++rank.sight.passes;
  CHECK(rank.before().nap == 2 * ProgressStates::kShortNap);
}

TEST_CASE("progress states: after a short nap fewer passes are many",
          "[runtime][progress]") {
  constexpr std::uint64_t kFew = ProgressStates::kManyPasses *
                                 ProgressStates::kShortNap /
                                 ProgressStates::kTick;
  StatesUnderTest rank;
  rank.sight = {1, 1};
  CHECK(rank.before().nap == ProgressStates::kShortNap);
  rank.sight.awake = 0;
  const bool are_many = GENERATE(true, false);
  rank.sight.passes += are_many ? kFew : kFew - 1;
  CHECK(rank.after(Pass::kNothing).state ==
        (are_many ? State::kNapping : State::kAsleep));
}

TEST_CASE("progress states: a caller that is asleep does not keep it away",
          "[runtime][progress]") {
  StatesUnderTest rank;
  rank.sight = {1000, 1};
  CHECK(rank.before().state == State::kNapping);
  rank.sight = {1001, 0};
  CHECK(rank.before().state == State::kPolling);
  CHECK(rank.after(Pass::kNothing).state == State::kAsleep);
}

TEST_CASE("progress states: many passes of callers make it nap, few do not",
          "[runtime][progress]") {
  StatesUnderTest rank;
  rank.sight.passes = ProgressStates::kManyPasses - 1;
  CHECK(rank.after(Pass::kNothing).state == State::kAsleep);
  rank.sight.passes += ProgressStates::kManyPasses;
  const auto next = rank.after(Pass::kNothing);
  CHECK(next.state == State::kNapping);
  CHECK(next.nap == ProgressStates::kShortNap);
  CHECK(next.detaches);
  CHECK(rank.after(Pass::kNothing).state == State::kAsleep);
}

TEST_CASE("progress states: woken early for nothing, one pass is enough",
          "[runtime][progress]") {
  StatesUnderTest rank;
  SECTION("by something, early") {
    rank.states.slept(ProgressStates::kTick - Duration(1), true);
    ++rank.sight.passes;
    CHECK(rank.after(Pass::kNothing).state == State::kNapping);
  }
  SECTION("but without a caller's pass it sleeps on") {
    rank.states.slept(Duration(0), true);
    CHECK(rank.after(Pass::kNothing).state == State::kAsleep);
  }
  SECTION("not by its deadline") {
    rank.states.slept(Duration(0), false);
    ++rank.sight.passes;
    CHECK(rank.after(Pass::kNothing).state == State::kAsleep);
  }
  SECTION("not late") {
    rank.states.slept(ProgressStates::kTick, true);
    ++rank.sight.passes;
    CHECK(rank.after(Pass::kNothing).state == State::kAsleep);
  }
  SECTION("not for something") {
    rank.states.slept(Duration(0), true);
    CHECK(rank.after(Pass::kMoved).state == State::kPolling);
    ++rank.sight.passes;
    CHECK(rank.after(Pass::kNothing).state == State::kAsleep);
  }
  // It is told once.
  CHECK(rank.after(Pass::kNothing).state == State::kAsleep);
  ++rank.sight.passes;
  CHECK(rank.after(Pass::kNothing).state == State::kAsleep);
}

// A busy step needs the data that a caller has in use. How soon it is tried
// again depends on whether that caller may need its core.
TEST_CASE("progress states: a busy step is run again soon",
          "[runtime][progress]") {
  StatesUnderTest rank;
  SECTION("when no caller makes passes") {
    const auto next = rank.after(Pass::kBusy);
    CHECK(next.state == State::kNapping);
    CHECK(next.nap == ProgressStates::kBusyNap);
    CHECK_FALSE(next.detaches);
  }
  SECTION("later when a caller sleeps, who may be the user of its data") {
    rank.sight.caller_has_role = true;
    CHECK(rank.after(Pass::kBusy).nap == ProgressStates::kTick);
  }
  SECTION("later when a caller has made a pass") {
    ++rank.sight.passes;
    const auto next = rank.after(Pass::kBusy);
    CHECK(next.nap == ProgressStates::kTick);
    CHECK(next.detaches);
  }
}

TEST_CASE("progress states: it stays beside a caller for half a second at most",
          "[runtime][progress]") {
  const auto next = ProgressStates().beside_caller();
  CHECK(next.state == State::kBesideCaller);
  CHECK(next.nap == ProgressStates::kLongestRest);
  CHECK_FALSE(next.detaches);
}

}  // namespace acp::runtime
