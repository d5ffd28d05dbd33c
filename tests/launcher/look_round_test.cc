// A round of looks at the ranks of all hosts.
#include "launcher/look_round.h"

#include <vector>

#include <catch2/catch.hpp>

namespace acp::launcher {

namespace {

std::vector<RankLook> looks_at(std::uint32_t first, std::uint32_t second) {
  std::vector<RankLook> looks(2);
  looks[0].launch_rank = first;
  looks[1].launch_rank = second;
  return looks;
}

}  // namespace

TEST_CASE("look round: it is complete with the looks of all hosts, in order",
          "[launcher]") {
  LookRound round(2);
  const std::int64_t number = round.begin();
  round.take(1, number, looks_at(1, 3));
  CHECK_FALSE(round.is_complete());
  round.take(0, number, looks_at(0, 2));
  REQUIRE(round.is_complete());
  const auto looks = round.looks();
  REQUIRE(looks.size() == 4);
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    CHECK(looks[rank].launch_rank == rank);
  }
}

TEST_CASE("look round: looks of an earlier round do not count", "[launcher]") {
  LookRound round(2);
  const std::int64_t old = round.begin();
  round.take(0, old, looks_at(0, 1));
  const std::int64_t number = round.begin();
  CHECK(number != old);
  round.take(1, old, looks_at(2, 3));
  round.take(0, number, looks_at(0, 1));
  CHECK_FALSE(round.is_complete());
  CHECK(round.looks().size() == 2);
}

}  // namespace acp::launcher
