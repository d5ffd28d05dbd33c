// Which addresses a list of interfaces names.
#include "transport/interfaces.h"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "base/log.h"

namespace acp::transport {

namespace {

LocalAddress local(const char* interface,
                   const char* address,
                   std::uint32_t scope = 0) {
  return {*parse_address(address), scope, interface, 1500};
}

const std::vector<LocalAddress> kKnown = {
    local("lo", "127.0.0.1"),       local("lo", "::1"),
    local("docker0", "172.17.0.1"), local("eth0", "fe80::1", 2),
    local("eth0", "10.1.0.7"),      local("eth0", "fd00::7"),
    local("ib0", "fe80::1", 3),     local("ib0", "fd01::7"),
    local("link0", "fe80::9", 4),
};

std::vector<std::string> chosen(std::string_view text) {
  const auto addresses = choose_addresses("ACP_UDP_INTERFACES", text, kKnown);
  std::vector<std::string> found;
  if (addresses.ok()) {
    for (const LocalAddress& one : *addresses) {
      found.push_back(format_address(one.address) + " " +
                      std::to_string(one.scope));
    }
  }
  return found;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("interfaces: a name takes IPv4 first and a link-local address last",
          "[transport][interfaces]") {
  CHECK(chosen("eth0") == Texts{"10.1.0.7 0"});
  CHECK(chosen("ib0") == Texts{"fd01::7 0"});
  CHECK(chosen("link0") == Texts{"fe80::9 4"});
}

TEST_CASE("interfaces: addresses, also link-local ones with their interface",
          "[transport][interfaces]") {
  CHECK(chosen("fd00::7") == Texts{"fd00::7 0"});
  CHECK(chosen("fe80::1") == Texts{"fe80::1 2"});
  CHECK(chosen("fe80::1%ib0") == Texts{"fe80::1 3"});
  CHECK(chosen("127.0.0.2") == Texts{"127.0.0.2 0"});
}

TEST_CASE("interfaces: a subnet takes the first address in it",
          "[transport][interfaces]") {
  CHECK(chosen("10.0.0.0/8") == Texts{"10.1.0.7 0"});
  CHECK(chosen("10.1.0.7/32") == Texts{"10.1.0.7 0"});
  CHECK(chosen("fd00::/15") == Texts{"fd00::7 0"});
  CHECK(chosen("fd01::/16") == Texts{"fd01::7 0"});
  CHECK(chosen("0.0.0.0/0") == Texts{"127.0.0.1 0"});
  CHECK(chosen("10.128.0.0/9").empty());
}

TEST_CASE("interfaces: a list keeps its order", "[transport][interfaces]") {
  CHECK(chosen("ib0,10.1.0.0/16,127.0.0.1") ==
        Texts{"fd01::7 0", "10.1.0.7 0", "127.0.0.1 0"});
}

TEST_CASE("interfaces: what names none is refused", "[transport][interfaces]") {
  set_log_level(LogLevel::kError);
  for (const std::string text :
       {"", "eth1", "192.0.2.1", "10.1.0.7,", ",", "eth0 ib0", "10.0.0.0/33",
        "10.0.0.0/", "10.0.0.0/x", "/8", "fe80::1%eth1", "0.0.0.0", "::"}) {
    INFO(text);
    CHECK(choose_addresses("ACP_UDP_INTERFACES", text, kKnown).status() ==
          Status::kBadOption);
  }
}

TEST_CASE("interfaces: this host has a loopback address",
          "[transport][interfaces]") {
  const auto known = list_local_addresses();
  REQUIRE(known.ok());
  const auto loopback = choose_addresses("", "127.0.0.0/8", *known);
  REQUIRE(loopback.ok());
  CHECK(format_address(loopback->front().address) == "127.0.0.1");
  CHECK(loopback->front().interface == "lo");
  const auto route = address_towards("127.0.0.9");
  REQUIRE(route.ok());
  CHECK(is_loopback(route->address));
  CHECK(address_towards("no.number").status() == Status::kSystem);
}

}  // namespace acp::transport
