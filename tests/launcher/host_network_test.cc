// Tests for which hosts of a job acprun reports a missing address.
#include "launcher/host_network.h"

#include <catch2/catch.hpp>

#include "launcher/route.h"

namespace acp::launcher {

TEST_CASE("host network: hosts of one machine need no address",
          "[launcher][hosts]") {
  HostNetworks networks;
  networks.note(0, {"boot 1", "b: unknown"});
  networks.note(1, {"boot 1", "a: unknown"});
  CHECK(networks.without_route().empty());
}

TEST_CASE("host network: a host without an address of another machine is lost",
          "[launcher][hosts]") {
  HostNetworks networks;
  networks.note(0, {"boot 1", "b: unknown"});
  networks.note(1, {"boot 1", ""});
  networks.note(2, {"boot 2", "a: unknown"});
  const auto lost = networks.without_route();
  REQUIRE(lost.size() == 2);
  CHECK(lost[0].host == 0);
  CHECK(lost[0].why == "b: unknown");
  CHECK(lost[1].host == 2);
}

TEST_CASE("host network: a report arrives as it was sent",
          "[launcher][hosts]") {
  const std::string bytes = encode_host_network({network_stack(), "why"});
  const auto network = decode_host_network(bytes);
  REQUIRE(network);
  CHECK(network->stack == network_stack());
  CHECK(network->why_no_route == "why");
  CHECK_FALSE(decode_host_network(bytes + "more"));
}

TEST_CASE("host network: a name without an address has a reason",
          "[launcher][hosts]") {
  CHECK(route_to({"own"}, "own").why_unknown.empty());
  CHECK(route_to({"10.1.2.3"}, "own").address == "10.1.2.3");
  const Route route = route_to({"no host", "127.0.0.1"}, "own");
  CHECK(route.address.empty());
  CHECK(route.why_unknown.starts_with("no host: "));
  CHECK(route_to({"127.0.0.1"}, "").why_unknown ==
        "127.0.0.1: its address is loopback");
}

}  // namespace acp::launcher
