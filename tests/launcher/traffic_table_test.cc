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

Traffic traffic_of(std::uint32_t rank) {
  Traffic traffic;
  traffic[TrafficCount::kSent] = 1000;
  traffic[TrafficCount::kSentBytes] = 2'500'000;
  traffic[TrafficCount::kReceived] = 900;
  traffic[TrafficCount::kSentAgain] = 20;
  traffic[TrafficCount::kNeedless] = 10;
  traffic[TrafficCount::kCorrupt] = 3;
  traffic[TrafficCount::kReplayed] = rank;
  traffic[TrafficCount::kLongestRtt] = 1'000'000 * (rank + 1);
  return traffic;
}

RankLook look_at(std::uint32_t rank, const Traffic& traffic) {
  RankLook look;
  look.launch_rank = rank;
  look.traffic = traffic;
  return look;
}

/// Hosts a and b, with half of the ranks each.
std::vector<HostRanks> two_hosts(std::uint32_t ranks) {
  std::vector<HostRanks> hosts = {{0, "a", true, {}}, {1, "b", false, {}}};
  hosts[0].ranks.append(0, ranks / 2);
  hosts[1].ranks.append(ranks / 2, ranks - ranks / 2);
  return hosts;
}

/// Takes a look at each of the two hosts, in the order of the ranks.
void note_all(JobTraffic& traffic, std::uint32_t ranks) {
  const auto hosts = two_hosts(ranks);
  for (const HostRanks& host : hosts) {
    std::vector<RankLook> looks;
    for (const std::uint32_t rank : host.ranks.list())
      looks.push_back(look_at(rank, traffic_of(rank)));
    traffic.note(looks, RankHosts(hosts));
  }
}

}  // namespace

TEST_CASE("traffic table: a row for each rank, and one for all",
          "[launcher][traffic]") {
  JobTraffic traffic(2, two_hosts(2));
  note_all(traffic, 2);
  CHECK(traffic_table(traffic.rows()) ==
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
  JobTraffic traffic(80, two_hosts(80));
  note_all(traffic, 80);
  note_all(traffic, 80);  // The newest look counts, and not the sum.
  // A daemon whose ranks have not started sends that.
  traffic.note({}, RankHosts(two_hosts(80)));
  const std::string table = traffic_table(traffic.rows());
  CHECK(std::ranges::count(table, '\n') == 5);
  CHECK(table.find("acprun: a                         40000") !=
        std::string::npos);
}

TEST_CASE("traffic table: a packet sent again or dropped is a loss",
          "[launcher][traffic]") {
  std::vector<TrafficRow> ranks(2);
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
  const std::vector<TrafficRow> ranks(2);
  CHECK(traffic_line(ranks).empty());
  CHECK(traffic_table(ranks) ==
        "acprun: --stats: no rank has sent a packet over udp\n");
}

}  // namespace acp::launcher
