// Which ranks share a host.
#include "runtime/node_map.h"

#include <catch2/catch.hpp>

#include "runtime/host_group.h"
#include "runtime/job_record.h"

namespace acp::runtime {

TEST_CASE("node_map: a block has hosts and ranks of each", "[node_map]") {
  CHECK(decode_process_mapping("(vector,(0,2,3),(2,1,4))", 10) ==
        NodeMap{0, 0, 0, 1, 1, 1, 2, 2, 2, 2});
  CHECK(decode_process_mapping(" ( vector , (5,1,2) )", 2) == NodeMap{5, 5});
}

TEST_CASE("node_map: blocks repeat until all ranks have a host", "[node_map]") {
  CHECK(decode_process_mapping("(vector,(0,1,1))", 3) == NodeMap{0, 0, 0});
  CHECK(decode_process_mapping("(vector,(0,2,1))", 5) ==
        NodeMap{0, 1, 0, 1, 0});
}

TEST_CASE("node_map: a text of another form is refused", "[node_map]") {
  for (const char* text :
       {"", "unknown", "(vector)", "(vector,(0,0,1))", "(vector,(0,1,0))",
        "(vector,(0,1))", "(vector,(0,1,1)", "(vector,(0,1,1)) more",
        "(vector,(-1,1,1))", "(vector,(0,99999999999,1))"}) {
    INFO(text);
    CHECK_FALSE(decode_process_mapping(text, 2).has_value());
  }
}

TEST_CASE("host_group: the first rank of a host leads it", "[host_group]") {
  const NodeMap map{7, 3, 7, 3, 9};
  const HostGroup group = group_of(map, 3);
  CHECK(group.leader == 1);
  CHECK(group.ranks == std::vector<std::uint32_t>{1, 3});
  CHECK(group.others == std::vector<std::uint32_t>{0, 4});
  CHECK_FALSE(group.is_whole_job());
  CHECK(group_of({4, 4}, 1).is_whole_job());
}

TEST_CASE("job_record: records survive the way through the launcher",
          "[job_record]") {
  JobRecord job;
  job.procs = 12;
  job.sizes.starter_bytes = 10240;
  job.sizes.module_bytes = std::uint64_t{1} << 40;
  job.id[15] = 9;
  const auto same = decode_job_record(encode_record(job));
  REQUIRE(same.has_value());
  CHECK(same->procs == 12);
  CHECK(same->sizes.module_bytes == job.sizes.module_bytes);
  CHECK(same->id == job.id);
  CHECK_FALSE(decode_job_record("short").has_value());

  const HostRecord host{"door", "node1",   "boot", 42, {"10.0.0.1", "fd00::1"},
                        7,      SealKey{3}};
  const auto again = decode_host_record(encode_record(host));
  REQUIRE(again.has_value());
  CHECK(again->door == "door");
  CHECK(again->addresses == host.addresses);
  CHECK(again->seal_key == host.seal_key);
  CHECK_FALSE(decode_host_record(encode_record(host) + "x").has_value());
}

TEST_CASE("job_record: the route to another host is an address of its own",
          "[job_record]") {
  const HostRecord own{"", "a", "boot1", 1, {"172.17.0.1", "10.0.0.1"}, 0};
  const HostRecord other{"", "b", "boot2", 1, {"172.17.0.1", "10.0.0.2"}, 0};
  CHECK(route_between(own, other) == "10.0.0.2");
  // Two "hosts" of one machine meet over its loopback interface.
  CHECK(route_between(own, {"", "c", "boot1", 1, {"10.0.0.9"}, 0}).empty());
  // Two network namespaces of one machine do not.
  CHECK(route_between(own, {"", "d", "boot1", 2, {"10.0.0.9"}, 0}) ==
        "10.0.0.9");
}

TEST_CASE("job_record: a host without a route to another one has a reason",
          "[job_record]") {
  const HostRecord own{"", "a", "boot1", 1, {"172.17.0.1"}, 0};
  const HostRecord bare{"", "b", "boot2", 1, {}, 0};
  CHECK(route_between(own, bare).empty());
  CHECK(why_no_route(own, bare) ==
        "b: it has no address but loopback and link-local ones");
  const HostRecord alike{"", "c", "boot3", 1, {"172.17.0.1"}, 0};
  CHECK(route_between(own, alike).empty());
  CHECK(why_no_route(own, alike) ==
        "c: it has no address that a does not have as well");
}

}  // namespace acp::runtime
