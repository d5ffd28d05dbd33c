// Tests the orders and verdicts that follow from reports about the bootstrap.
#include "launcher/job_bootstrap.h"

#include <optional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

namespace acp::launcher {

namespace {

using protocol::Absence;
using protocol::AbsenceKind;
using protocol::BootstrapType;
using protocol::Phase;

constexpr std::uint32_t kBootstrapRanks = 4;
constexpr std::size_t kCardBytes = 64;

/// Ranks 0 and 1 are on host 0, ranks 2 and 3 on host 1.
std::vector<HostRanks> hosts_of_bootstrap() {
  std::vector<HostRanks> hosts(2);
  hosts[0].number = 0;
  hosts[0].ranks.append(0, 2);
  hosts[1].number = 1;
  hosts[1].ranks.append(2, 2);
  return hosts;
}

/// A bootstrap, and the orders that it has given.
struct BootstrapOrders {
  const RankHosts hosts{hosts_of_bootstrap()};
  HostNetworks networks;
  std::vector<HostMessage> given;
  JobBootstrap bootstrap{kBootstrapRanks, kCardBytes, hosts, networks,
                         [this](const HostMessage& order) {
                           given.push_back(order);
                         }};

  std::optional<Verdict> say(std::uint32_t rank,
                             BootstrapType type,
                             std::uint64_t value) {
    return bootstrap.take_rank_message({HostMessageType::kRankMessage,
                                        hosts.of(rank),
                                        rank,
                                        static_cast<std::int64_t>(type),
                                        static_cast<std::int64_t>(value),
                                        {}});
  }

  std::optional<Verdict> arrive(std::uint32_t rank, Phase phase) {
    return say(rank, BootstrapType::kArrive, static_cast<std::uint64_t>(phase));
  }

  void arrive_all(Phase phase) {
    for (std::uint32_t rank = 0; rank < kBootstrapRanks; ++rank) {
      CHECK_FALSE(arrive(rank, phase));
    }
  }

  void greet_all() {
    for (std::uint32_t rank = 0; rank < kBootstrapRanks; ++rank) {
      CHECK_FALSE(say(rank, BootstrapType::kHello, 100 + rank));
    }
    given.clear();
  }

  std::vector<HostMessageType> types() const {
    std::vector<HostMessageType> types;
    for (const HostMessage& one : given) {
      types.push_back(one.type);
    }
    return types;
  }
};

}  // namespace

TEST_CASE("job bootstrap: the welcome goes to the host of the rank",
          "[launcher]") {
  BootstrapOrders orders;
  CHECK_FALSE(orders.say(2, BootstrapType::kHello, 102));
  REQUIRE(orders.types() == std::vector{HostMessageType::kWelcome});
  CHECK(orders.given[0].host == 1);
  CHECK(orders.given[0].rank == 2);
}

TEST_CASE("job bootstrap: all hosts get Go when the last rank has arrived",
          "[launcher]") {
  BootstrapOrders orders;
  orders.greet_all();
  orders.arrive_all(Phase::kNetwork);
  REQUIRE(orders.types() == std::vector{HostMessageType::kGo});
  CHECK(orders.given[0].host == kEveryHost);
  CHECK(orders.given[0].value == static_cast<std::int64_t>(Phase::kNetwork));
}

TEST_CASE(
    "job bootstrap: hosts without a route hear why before they open "
    "sockets",
    "[launcher]") {
  BootstrapOrders orders;
  orders.networks.note(0, {"boot 1", "", "a"});
  orders.networks.note(1, {"boot 2", "a: unknown", "b"});
  orders.greet_all();
  orders.arrive_all(Phase::kNetwork);
  REQUIRE(orders.types() ==
          std::vector{HostMessageType::kNoRoute, HostMessageType::kGo});
  CHECK(orders.given[0].host == 1);
  CHECK(orders.given[0].text == "a: unknown");
}

TEST_CASE("job bootstrap: bytes that are no table are refused", "[launcher]") {
  BootstrapOrders orders;
  CHECK_FALSE(orders.bootstrap.take_table("nonsense"));
  CHECK(orders.given.empty());
}

TEST_CASE("job bootstrap: an address card goes to the host that has asked",
          "[launcher]") {
  BootstrapOrders orders;
  CHECK_FALSE(orders.say(0, BootstrapType::kWantAddress, 3));
  REQUIRE(orders.types() == std::vector{HostMessageType::kWantAddress});
  CHECK(orders.given[0].host == 1);
  CHECK(orders.given[0].rank == 3);
  CHECK(orders.given[0].value == 0);

  orders.bootstrap.pass_on_card(
      {HostMessageType::kAddress, 1, 3, 0, 0, "card"});
  REQUIRE(orders.given.size() == 2);
  CHECK(orders.given[1].type == HostMessageType::kAddress);
  CHECK(orders.given[1].host == 0);
  CHECK(orders.given[1].text == "card");
}

TEST_CASE("job bootstrap: numbers that no rank has get no answer",
          "[launcher]") {
  BootstrapOrders orders;
  orders.bootstrap.pass_on_card(
      {HostMessageType::kAddress, 1, 3, kBootstrapRanks, 0, "card"});
  orders.bootstrap.pass_on_card(
      {HostMessageType::kAddress, 1, 3, -1, 0, "card"});
  CHECK(orders.given.empty());
}

TEST_CASE("job bootstrap: hosts hear only of absences that change their words",
          "[launcher]") {
  BootstrapOrders orders;
  const std::uint64_t first = Absence{AbsenceKind::kLeaving, 1, 3}.word();
  CHECK_FALSE(orders.say(1, BootstrapType::kAbsent, first));
  REQUIRE(orders.types() == std::vector{HostMessageType::kAbsent});
  CHECK(orders.given[0].host == kEveryHost);
  CHECK(orders.given[0].value == static_cast<std::int64_t>(first));
  // Rank 2 has come to more barriers, so its absence concerns no more ranks.
  CHECK_FALSE(orders.say(2, BootstrapType::kAbsent,
                         Absence{AbsenceKind::kLeaving, 2, 4}.word()));
  CHECK_FALSE(orders.say(2, BootstrapType::kAbsent, 0));
  CHECK(orders.given.size() == 1);
}

TEST_CASE("job bootstrap: unlike calls give a verdict and no order",
          "[launcher]") {
  BootstrapOrders orders;
  orders.greet_all();
  orders.arrive_all(Phase::kNetwork);
  orders.arrive_all(Phase::kInit);
  orders.given.clear();
  CHECK_FALSE(orders.arrive(0, Phase::kCollective));
  const auto verdict = orders.arrive(1, Phase::kFinalize);
  REQUIRE(verdict);
  CHECK(verdict->is_unlike);
  CHECK(orders.given.empty());
}

TEST_CASE("job bootstrap: after the verdict only absences and cards go on",
          "[launcher]") {
  BootstrapOrders orders;
  orders.greet_all();
  orders.arrive_all(Phase::kNetwork);
  orders.given.clear();
  CHECK_FALSE(orders.arrive(0, Phase::kInit));
  orders.bootstrap.stop_judging();
  for (std::uint32_t rank = 1; rank < kBootstrapRanks; ++rank) {
    CHECK_FALSE(orders.arrive(rank, Phase::kInit));
  }
  CHECK_FALSE(orders.bootstrap.take_exit(1, 9));
  CHECK(orders.given.empty());
  CHECK(orders.bootstrap.rollcall().state(0) == RankState::kInInit);
  CHECK(orders.bootstrap.rollcall().state(1) == RankState::kGreeted);
  CHECK_FALSE(orders.bootstrap.rollcall().has_exited(1));

  CHECK_FALSE(orders.say(1, BootstrapType::kAbsent,
                         Absence{AbsenceKind::kLeaving, 1, 3}.word()));
  CHECK_FALSE(orders.say(1, BootstrapType::kWantAddress, 3));
  CHECK(orders.types() ==
        std::vector{HostMessageType::kAbsent, HostMessageType::kWantAddress});
}

}  // namespace acp::launcher
