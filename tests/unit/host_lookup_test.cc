// Tests how a rank finds the ranks of its host.
#include "runtime/host_lookup.h"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "runtime/job_record.h"
#include "support/value_space.h"

namespace acp::runtime {

namespace {

using test::ValueSpace;
using test::ValueSpaceRank;

using RankList = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("host lookup: the launcher's map is enough") {
  ValueSpace space;
  space.node_map = {0, 1, 0, 1};
  ValueSpaceRank manager(space, 3, 4);
  BundleSpace bundles(manager);
  const auto group = look_up_host(manager, bundles, {});
  REQUIRE(group.ok());
  CHECK(group->leader == 1);
  CHECK(group->ranks == RankList{1, 3});
  CHECK(group->others == RankList{0});
  CHECK(space.fences == 0);
  CHECK(space.values.empty());
}

// Two ranks are on one host only if host name and boot number are equal. One
// rank here has another name, and one another boot.
TEST_CASE("host lookup: without a map the ranks tell their hosts") {
  ValueSpace space;
  const HostRecord own = describe_this_host("");
  const std::string here = own.host_name + "\n" + own.boot;
  const std::vector<std::string> homes = {own.host_name + "\nother boot", here,
                                          "other name\n" + own.boot, here};
  for (std::uint32_t rank : {0U, 1U, 2U}) {
    ValueSpaceRank manager(space, rank, 4);
    REQUIRE(BundleSpace(manager).put("acp-home-" + std::to_string(rank),
                                     homes[rank], {}) == Status::kOk);
  }
  ValueSpaceRank manager(space, 3, 4);
  BundleSpace bundles(manager);
  const auto group = look_up_host(manager, bundles, {});
  REQUIRE(group.ok());
  CHECK(group->leader == 1);
  CHECK(group->ranks == RankList{1, 3});
  CHECK(group->others == RankList{0, 2});
  CHECK(space.fences == 1);
}

TEST_CASE("host lookup: a fence that fails fails the lookup") {
  ValueSpace space;
  space.fence = Status::kAborted;
  ValueSpaceRank manager(space, 0, 1);
  BundleSpace bundles(manager);
  CHECK(look_up_host(manager, bundles, {}).status() == Status::kAborted);
}

}  // namespace acp::runtime
