// Tests the count of arrivals of a host's ranks at the phases.
#include "runtime/host_phases.h"

#include <vector>

#include <catch2/catch.hpp>

namespace acp::runtime {

namespace {

using protocol::Phase;

/// The leader is rank 4, and ranks 5 and 7 are on its host as well.
HostPhases three_ranks() {
  return {4, {5, 7}};
}

}  // namespace

TEST_CASE("host phases: a phase waits for every other rank") {
  HostPhases phases = three_ranks();
  CHECK_FALSE(phases.have_others_arrived());
  CHECK(phases.missing() == std::vector<std::uint32_t>{5, 7});
  phases.arrive(0, Phase::kInit);
  CHECK(phases.missing() == std::vector<std::uint32_t>{7});
  phases.arrive(1, Phase::kInit);
  CHECK(phases.have_others_arrived());
  CHECK(phases.missing().empty());
  phases.go(Phase::kInit);
  CHECK_FALSE(phases.have_others_arrived());
}

TEST_CASE("host phases: a leader alone waits for no other rank") {
  const HostPhases phases(3, {});
  CHECK(phases.have_others_arrived());
  CHECK_FALSE(phases.elsewhere(Phase::kInit));
}

TEST_CASE("host phases: a rank in another phase is found") {
  HostPhases phases = three_ranks();
  phases.arrive(1, Phase::kFinalize);
  CHECK_FALSE(phases.elsewhere(Phase::kFinalize));
  const auto other = phases.elsewhere(Phase::kCollective);
  REQUIRE(other);
  CHECK(other->rank == 7);
  CHECK(other->phase == Phase::kFinalize);
}

TEST_CASE("host phases: only acp_reset counts as a meeting") {
  HostPhases phases = three_ranks();
  phases.arrive(0, Phase::kInit);
  phases.arrive_self(Phase::kInit);
  CHECK_FALSE(phases.waiting_in_meeting());
  phases.go(Phase::kInit);
  CHECK(phases.meetings() == 0);
  CHECK(phases.arrivals_of(0) == 0);
  CHECK(phases.own_arrivals() == 0);
}

// acprun names a rank that waits in vain, and the meeting in which it waits. A
// meeting counts once all ranks have been let go from it.
TEST_CASE(
    "host phases: a rank waits in the meeting behind the last that is over") {
  HostPhases phases = three_ranks();
  phases.arrive(1, Phase::kCollective);
  auto waiting = phases.waiting_in_meeting();
  REQUIRE(waiting);
  CHECK(waiting->rank == 7);
  CHECK(waiting->meeting == 1);
  phases.arrive_self(Phase::kCollective);
  waiting = phases.waiting_in_meeting();
  REQUIRE(waiting);
  CHECK(waiting->rank == 4);
  phases.arrive(0, Phase::kCollective);
  phases.go(Phase::kCollective);
  CHECK_FALSE(phases.waiting_in_meeting());
  CHECK(phases.meetings() == 1);
  CHECK(phases.own_arrivals() == 1);
  CHECK(phases.arrivals_of(0) == 1);

  phases.arrive(0, Phase::kCollective);
  waiting = phases.waiting_in_meeting();
  REQUIRE(waiting);
  CHECK(waiting->rank == 5);
  CHECK(waiting->meeting == 2);
  CHECK(phases.arrivals_of(0) == 2);
}

}  // namespace acp::runtime
