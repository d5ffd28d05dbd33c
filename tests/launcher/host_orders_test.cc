// Tests the orders of hosts, to and from bytes.
#include "launcher/host_orders.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

namespace acp::launcher {

namespace {

constexpr std::uint32_t kProcs = 12;

HostOrders orders_for(std::vector<HostRanks> hosts) {
  HostOrders orders;
  orders.procs = kProcs;
  orders.hosts = std::move(hosts);
  orders.groups.emplace_back();
  orders.groups.front().command = {"program"};
  return orders;
}

/// The ranks are `first` to `last`, each by itself, and 4 more. A receiver of
/// another build could be sent anything.
bool are_taken(std::uint32_t first, std::uint32_t last) {
  HostRanks host{1, "a", false, {}};
  host.ranks.append(first);
  host.ranks.append(last, 4);
  return decode_orders(encode_orders(orders_for({host}))).has_value();
}

}  // namespace

TEST_CASE("host orders: hosts keep their ranks", "[launcher][orders]") {
  HostRanks a{3, "a", false, {}};
  a.ranks.append(0, 2);
  a.ranks.append(6, 1);
  HostRanks b{4, "b", false, {}};
  b.ranks.append(2, 4);
  const auto taken = decode_orders(encode_orders(orders_for({a, b})));
  REQUIRE(taken.has_value());
  REQUIRE(taken->hosts.size() == 2);
  CHECK(taken->hosts[0].number == 3);
  CHECK(taken->hosts[1].name == "b");
  CHECK(std::ranges::equal(taken->hosts[0].ranks.runs(), a.ranks.runs()));
  CHECK(std::ranges::equal(taken->hosts[1].ranks.runs(), b.ranks.runs()));
}

TEST_CASE("host orders: only ascending ranks of the job",
          "[launcher][orders]") {
  CHECK(are_taken(0, 8));
  CHECK_FALSE(are_taken(0, 9));  // the last rank would be 12
  CHECK_FALSE(are_taken(0, UINT32_MAX - 1));
  CHECK_FALSE(are_taken(5, 5));
  CHECK_FALSE(are_taken(7, 2));
  CHECK_FALSE(decode_orders(encode_orders(orders_for({{1, "a", false, {}}})))
                  .has_value());
}

}  // namespace acp::launcher
