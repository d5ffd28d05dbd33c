// Tests the table of acprun --stats.
#include "launcher/traffic_table.h"

#include <algorithm>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

namespace acp::launcher {

namespace {

using protocol::Traffic;
using protocol::TrafficCount;

RankTraffic rank_of(std::uint32_t rank, const std::string& host) {
  RankTraffic one{rank, host, {}};
  one.traffic[TrafficCount::kSent] = 1000;
  one.traffic[TrafficCount::kSentBytes] = 2'500'000;
  one.traffic[TrafficCount::kReceived] = 900;
  one.traffic[TrafficCount::kSentAgain] = 20;
  one.traffic[TrafficCount::kNeedless] = 10;
  one.traffic[TrafficCount::kCorrupt] = 3;
  one.traffic[TrafficCount::kReplayed] = rank;
  one.traffic[TrafficCount::kLongestRtt] = 1'000'000 * (rank + 1);
  return one;
}

}  // namespace

TEST_CASE("traffic table: a row for each rank, and one for all",
          "[launcher][traffic]") {
  const std::vector<RankTraffic> ranks = {rank_of(0, "a"), rank_of(1, "b")};
  CHECK(traffic_table(ranks) ==
        "acprun: udp, by rank               sent         MB   received         "
        "MB again % needl. %  dropped   rtt us\n"
        "acprun: 0 on a                     1000        2.5        900        "
        "0.0    2.00     1.00        3     1000\n"
        "acprun: 1 on b                     1000        2.5        900        "
        "0.0    2.00     1.00        4     2000\n"
        "acprun: all                        2000        5.0       1800        "
        "0.0    2.00     1.00        7     2000\n"
        "acprun: udp sent 2000 packets, 2.0 % of them again (needlessly 1.0 "
        "%), and dropped 7 of 1800 that came: 6 corrupt, 1 replayed\n");
}

TEST_CASE("traffic table: a row for each host of a large job",
          "[launcher][traffic]") {
  std::vector<RankTraffic> ranks;
  for (std::uint32_t rank = 0; rank < 80; ++rank) {
    ranks.push_back(rank_of(rank, rank < 40 ? "a" : "b"));
  }
  const std::string table = traffic_table(ranks);
  CHECK(std::ranges::count(table, '\n') == 5);
  CHECK(table.find("acprun: a                         40000") !=
        std::string::npos);
}

TEST_CASE("traffic table: a packet sent again or dropped is a loss",
          "[launcher][traffic]") {
  std::vector<RankTraffic> ranks(2);
  ranks[0].traffic[TrafficCount::kSent] = 3;
  ranks[1].traffic[TrafficCount::kReceived] = 3;
  CHECK_FALSE(has_losses(ranks));
  ranks[1].traffic[TrafficCount::kSentAgain] = 1;
  CHECK(has_losses(ranks));
  ranks[1].traffic[TrafficCount::kSentAgain] = 0;
  ranks[0].traffic[TrafficCount::kCorrupt] = 1;
  CHECK(has_losses(ranks));
}

TEST_CASE("traffic table: nothing was sent", "[launcher][traffic]") {
  const std::vector<RankTraffic> ranks(2);
  CHECK(traffic_line(ranks).empty());
  CHECK(traffic_table(ranks) ==
        "acprun: --stats: no rank has sent a packet over udp\n");
}

}  // namespace acp::launcher
