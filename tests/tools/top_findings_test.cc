// The findings of acp_top in a job that may be stuck.
#include <catch2/catch.hpp>

#include "findings.h"
#include "tests/tools/top_rows.h"

namespace acp::top {

namespace {

using rows::computing;
using rows::picture;
using rows::waiting;
using Circles = std::vector<std::vector<std::int64_t>>;
using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("acp_top: a circle of waits is found once, in its order", "[top]") {
  // 4 waits for the circle, and 5 stands alone.
  const Picture job = picture({
      waiting(0, "acp_wait_ch", 4, 9),
      waiting(1, "acp_wait_ch", 3, 9),
      waiting(2, "acp_wait_ch", 1, 7),
      waiting(3, "acp_wait_ch", 2, 9),
      waiting(4, "acp_wait_ch", 3, 9),
      computing(5),
  });
  CHECK(find_circles(job) == Circles{{1, 3, 2}});
  CHECK(findings_of(job) ==
        Lines{"CIRCLE of 3 ranks, for 7.0s: 1 -> 3 -> 2 -> 1"});
}

TEST_CASE("acp_top: two circles are two findings", "[top]") {
  const Picture job = picture({
      waiting(0, "acp_wait_ch", 1, 9),
      waiting(1, "acp_wait_ch", 0, 9),
      waiting(2, "acp_wait_ch", 2, 9),
  });
  CHECK(find_circles(job) == Circles{{0, 1}, {2}});
}

TEST_CASE("acp_top: short waits and chains are no circle", "[top]") {
  CHECK(find_circles(picture({
                         waiting(0, "acp_wait_ch", 1, 9),
                         waiting(1, "acp_wait_ch", 0, 0.5),
                     }))
            .empty());
  CHECK(find_circles(picture({
                         waiting(0, "acp_wait_ch", 1, 9),
                         waiting(1, "acp_wait_ch", 2, 9),
                         computing(2),
                     }))
            .empty());
}

TEST_CASE("acp_top: a wait for a rank that is not there ends the walk",
          "[top]") {
  CHECK(find_circles(picture({waiting(0, "acp_wait_ch", 9, 9)})).empty());
}

TEST_CASE("acp_top: a large circle is named by its ends", "[top]") {
  std::vector<RankRow> ranks;
  for (std::int64_t i = 0; i < 300; ++i)
    ranks.push_back(waiting(i, "acp_wait_ch", (i + 1) % 300, 60));
  const Lines lines = findings_of(picture(ranks));
  REQUIRE(lines.size() == 2);
  CHECK(lines[0] == "STUCK: no rank has got any further for 1m00s");
  CHECK(lines[1] ==
        "CIRCLE of 300 ranks, for 1m00s: 0 -> 1 -> 2 -> 3 -> 4 -> 5 -> "
        "... -> 299 -> 0");
}

TEST_CASE("acp_top: the rank that others wait for is named", "[top]") {
  CHECK(findings_of(picture({
            waiting(0, "acp_wait_ch", 1, 9),
            waiting(1, "acp_complete", 2, 9),
            computing(2),
        })) == Lines{"2 ranks wait for rank 2, directly or through others. It "
                     "is computing"});
}

TEST_CASE("acp_top: ranks that are missing in a call of all are named",
          "[top]") {
  CHECK(findings_of(picture({
            waiting(0, "acp_sync", std::nullopt, 9),
            waiting(1, "acp_sync", std::nullopt, 9),
            waiting(2, "acp_wait_ch", 3, 0.2),
            computing(3),
        })) == Lines{"2 ranks wait in acp_sync; rank 2 is waiting in "
                     "acp_wait_ch for rank 3; rank 3 is computing"});
}

TEST_CASE("acp_top: a stopped rank comes with the command that helps",
          "[top]") {
  RankRow stopped = computing(1);
  stopped.state = State::kStopped;
  CHECK(findings_of(
            picture({waiting(0, "acp_sync", std::nullopt, 9), stopped})) ==
        Lines{"STUCK: no rank has got any further for 9.0s",
              "rank 1 is stopped: 'kill -CONT 1001' on a lets it go on",
              "1 rank waits in acp_sync; rank 1 is stopped"});
}

TEST_CASE("acp_top: a job that runs well has no findings", "[top]") {
  CHECK(findings_of(
            picture({computing(0), waiting(1, "acp_sync", std::nullopt, 0.4)}))
            .empty());
  CHECK(findings_of(picture({})).empty());
}

}  // namespace acp::top
