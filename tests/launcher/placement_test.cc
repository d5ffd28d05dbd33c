// Tests which ranks are placed on which host, and the runs that keep them.
#include "launcher/placement.h"

#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include <catch2/catch.hpp>

#include "launcher/rank_hosts.h"

namespace acp::launcher {

TEST_CASE("placement: nodes are filled, and filled again",
          "[launcher][placement]") {
  const std::vector<Node> nodes{{"a", 2, 1}, {"b", 1, 2}};
  CHECK(fill_nodes(nodes, 1) == std::vector<NodeShare>{{0, 1}});
  CHECK(fill_nodes(nodes, 3) == std::vector<NodeShare>{{0, 2}, {1, 1}});
  CHECK(fill_nodes(nodes, 7) ==
        std::vector<NodeShare>{{0, 2}, {1, 1}, {0, 2}, {1, 1}, {0, 1}});
}

TEST_CASE("placement: neighbours are together, and nodes have even shares",
          "[launcher][placement]") {
  for (std::size_t nodes = 1; nodes <= 20; ++nodes) {
    for (std::uint32_t ranks = 1; ranks <= 50; ++ranks) {
      std::vector<std::size_t> node_of_rank;
      for (const NodeShare& share : share_evenly(nodes, ranks))
        node_of_rank.insert(node_of_rank.end(), share.ranks, share.node);
      REQUIRE(node_of_rank.size() == ranks);
      for (std::uint32_t rank = 0; rank < ranks; ++rank)
        REQUIRE(node_of_rank[rank] == rank * nodes / ranks);
    }
  }
  CHECK(share_evenly(16'384, 1'048'575).back() == NodeShare{16'383, 63});
}

TEST_CASE("rank runs: neighbours are one run", "[launcher][placement]") {
  RankRuns ranks;
  CHECK(ranks.empty());
  CHECK(ranks.list().empty());
  ranks.append(3, 2);
  ranks.append(5);
  ranks.append(7, 3);
  CHECK(std::ranges::equal(ranks.runs(),
                           std::vector<RankRuns::Run>{{3, 3}, {7, 3}}));
  CHECK(ranks.list() == std::vector<std::uint32_t>{3, 4, 5, 7, 8, 9});
}

/// Each rank goes to a random host, so runs are short and gaps many.
TEST_CASE("rank runs: each rank has its host, and no other",
          "[launcher][placement]") {
  constexpr std::uint32_t kRanks = 2'000;
  constexpr std::uint32_t kHosts = 5;
  std::mt19937 random(7);
  std::vector<HostRanks> hosts(kHosts);
  std::vector<std::set<std::uint32_t>> model(kHosts);
  for (std::uint32_t host = 0; host < kHosts; ++host)
    hosts[host].number = host;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    const auto host = static_cast<std::size_t>(random() % kHosts);
    hosts[host].ranks.append(rank);
    model[host].insert(rank);
  }
  const RankHosts host_of(hosts);
  for (const HostRanks& host : hosts) {
    const std::set<std::uint32_t>& expected = model[host.number];
    CHECK(std::ranges::equal(host.ranks.list(), expected));
    for (const std::uint32_t rank : expected)
      REQUIRE(host_of.of(rank) == host.number);
  }
}

}  // namespace acp::launcher
