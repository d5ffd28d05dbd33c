// Tests for which hosts of a job acprun reports a missing address.
#include "launcher/host_network.h"

#include <sys/resource.h>

#include <catch2/catch.hpp>

#include "launcher/route.h"

namespace acp::launcher {

TEST_CASE("host network: hosts of one machine need no address",
          "[launcher][hosts]") {
  HostNetworks networks;
  networks.note(0, {"boot 1", "b: unknown", "h"});
  networks.note(1, {"boot 1", "a: unknown", "h"});
  CHECK(networks.without_route().empty());
}

TEST_CASE("host network: a host without an address of another machine is lost",
          "[launcher][hosts]") {
  HostNetworks networks;
  networks.note(0, {"boot 1", "b: unknown", "h"});
  networks.note(1, {"boot 1", "", "h"});
  networks.note(2, {"boot 2", "a: unknown", "h"});
  const auto lost = networks.without_route();
  REQUIRE(lost.size() == 2);
  CHECK(lost[0].host == 0);
  CHECK(lost[0].why == "b: unknown");
  CHECK(lost[1].host == 2);
}

TEST_CASE("host network: a host given by address has its own name, too",
          "[launcher][hosts]") {
  HostNetworks networks;
  networks.note(0, {"boot 1", "", "h1"});
  CHECK(networks.name_of(0, "10.0.0.1") == "h1 at 10.0.0.1");
  CHECK(networks.name_of(0, "fe80::1%eth0") == "h1 at fe80::1%eth0");
  CHECK(networks.name_of(0, "node1") == "node1");
  CHECK(networks.name_of(1, "10.0.0.2") == "10.0.0.2");
}

TEST_CASE("host network: a report arrives as it was sent",
          "[launcher][hosts]") {
  const std::string bytes = encode_host_network({network_stack(), "why", "h"});
  const auto network = decode_host_network(bytes);
  REQUIRE(network);
  CHECK(network->stack == network_stack());
  CHECK(network->why_no_route == "why");
  CHECK(network->name == "h");
  CHECK_FALSE(decode_host_network(bytes + "more"));
}

TEST_CASE("host network: a name without an address has a reason",
          "[launcher][hosts]") {
  CHECK(route_to({"own"}, "own").why_unknown.empty());
  const Route route = route_to({"no host", "127.0.0.1"}, "own");
  CHECK(route.address.empty());
  CHECK(route.why_unknown.starts_with("no host: "));
  CHECK(route_to({"127.0.0.1"}, "").why_unknown ==
        "127.0.0.1: its address is loopback");
}

/// Memory that ended children of this process have touched.
long pages_of_children() {
  rusage usage{};
  REQUIRE(::getrusage(RUSAGE_CHILDREN, &usage) == 0);
  return usage.ru_minflt;
}

TEST_CASE("host network: an address that is a number needs no resolver",
          "[launcher][hosts]") {
  const long before = pages_of_children();
  CHECK(route_to({"10.1.2.3"}, "own").address == "10.1.2.3");
  CHECK(route_to({"own", "fe80::1%lo"}, "own").address == "fe80::1%lo");
  CHECK(pages_of_children() == before);
  CHECK(route_to({"no host", "10.1.2.3"}, "own").address == "10.1.2.3");
  CHECK(pages_of_children() > before);
}

}  // namespace acp::launcher
