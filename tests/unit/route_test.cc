// The way of a step, from the addresses of both ends.
#include "gma/route.h"

#include <vector>

#include <catch2/catch.hpp>

#include "gmm/key_table.h"
#include "support/host_memory.h"

namespace acp::gma {

namespace {

using protocol::Opcode;

constexpr End kMapped = End::kMapped;
constexpr End kHost = End::kHost;
constexpr End kFar = End::kFar;

struct Row {
  End to;
  End from;
  Way first;    ///< Cross-memory copies possible.
  Way refused;  ///< Cross-memory copies refused.
};

const std::vector<Row> kRows = {
    {kMapped, kMapped, Way::kLocal, Way::kLocal},
    {kMapped, kHost, Way::kCrossGet, Way::kGet},
    {kMapped, kFar, Way::kGet, Way::kGet},
    {kHost, kMapped, Way::kCrossPut, Way::kPut},
    {kHost, kHost, Way::kBounce, Way::kBetweenOthers},
    {kHost, kFar, Way::kBetweenOthers, Way::kBetweenOthers},
    {kFar, kMapped, Way::kPut, Way::kPut},
    {kFar, kHost, Way::kBetweenOthers, Way::kBetweenOthers},
    {kFar, kFar, Way::kBetweenOthers, Way::kBetweenOthers},
};

/// Rank 0 of four. Rank 1 is of its host.
struct RouteWorld {
  explicit RouteWorld(gmm::Reach reach)
      : space(host.segment(), 0, 0, 2, reach) {}

  GlobalAddress address(Rank rank, std::uint32_t key) const {
    return space.codec().encode(rank, 0, key, 0, 64);
  }

  Way way_of(Opcode opcode,
             GlobalAddress remote,
             GlobalAddress local,
             std::uint8_t width = 8) const {
    Step step;
    step.opcode = opcode;
    step.width = width;
    step.remote = remote;
    step.local = local;
    step.size = 8;
    return route(space, step);
  }

  test::HostMemory host{4, 2};
  gmm::AddressSpace space;
};

}  // namespace

TEST_CASE("gma: a copy's way follows from where its ends are", "[gma][route]") {
  for (const Row& row : kRows) {
    CAPTURE(static_cast<int>(row.to), static_cast<int>(row.from));
    CHECK(route_copy(row.to, row.from, CrossCopies::kPossible) == row.first);
    CHECK(route_copy(row.to, row.from, CrossCopies::kRefused) == row.refused);
  }
}

TEST_CASE("gma: once cross-memory copies are refused no way needs them",
          "[gma][route]") {
  for (const Row& row : kRows) {
    const Way way = route_copy(row.to, row.from, CrossCopies::kRefused);
    CHECK(way != Way::kCrossGet);
    CHECK(way != Way::kCrossPut);
    CHECK(way != Way::kBounce);
  }
}

TEST_CASE("gma: a word is executed here when it is mapped and the CPU may",
          "[gma][route]") {
  for (const End end : {kMapped, kHost, kFar}) {
    CHECK(route_word(end, CpuMay::kNo) == Way::kOwner);
    CHECK(route_word(end, CpuMay::kYes) ==
          (end == kMapped ? Way::kLocal : Way::kOwner));
  }
}

TEST_CASE("gma: rank and key tell where an end is", "[gma][route]") {
  const RouteWorld world(gmm::Reach::kHost);
  const auto end_at = [&](Rank rank, std::uint32_t key) {
    return end_of(world.space, world.address(rank, key));
  };
  const std::uint32_t registered = gmm::kFirstUserKey;  // not live: no matter
  CHECK(end_at(0, gmm::kStarterKey) == kMapped);
  CHECK(end_at(0, registered) == kMapped);
  CHECK(end_at(1, gmm::kStarterKey) == kMapped);
  CHECK(end_at(1, gmm::kModuleKey) == kMapped);
  CHECK(end_at(1, registered) == kHost);
  CHECK(end_at(2, gmm::kStarterKey) == kFar);
  CHECK(end_at(4, gmm::kStarterKey) == kFar);
  CHECK(end_of(world.space, gmm::kNullAddress) == kFar);
  const RouteWorld alone(gmm::Reach::kSelf);
  CHECK(end_of(alone.space, alone.address(1, gmm::kStarterKey)) == kFar);
}

// One address for each kind of memory. These are registered memory of this rank
// and of a peer, module memory, starter memory of a peer, and memory of another
// host.
TEST_CASE("gma: where an end is agrees with its look-up", "[gma][route]") {
  RouteWorld world(gmm::Reach::kHost);
  std::vector<std::byte> memory(256);
  gmm::KeyTable keys(world.host.segment(), 0);
  gmm::KeyTable peer_keys(world.host.segment(), 1);
  const GlobalAddress addresses[] = {
      keys.add(0, 0, memory.data(), memory.size()).value() + 64,
      peer_keys.add(1, 1, memory.data(), memory.size()).value() + 64,
      world.address(0, gmm::kModuleKey), world.address(1, gmm::kStarterKey),
      world.address(3, gmm::kFirstUserKey)};
  for (const GlobalAddress address : addresses) {
    CAPTURE(address);
    const Result<gmm::Target> target = world.space.locate(address, 8);
    REQUIRE(target.ok());
    CHECK(end_of(world.space, address) ==
          (target.value().direct != nullptr ? kMapped
           : target.value().is_same_host    ? kHost
                                            : kFar));
  }
}

TEST_CASE("gma: the opcode tells which end a step reads", "[gma][route]") {
  const RouteWorld world(gmm::Reach::kHost);
  const GlobalAddress mine = world.address(0, gmm::kStarterKey);
  const GlobalAddress far = world.address(2, gmm::kStarterKey);
  CHECK(world.way_of(Opcode::kPut, far, mine) == Way::kPut);
  CHECK(world.way_of(Opcode::kGet, far, mine) == Way::kGet);
  CHECK(world.way_of(Opcode::kCopy, far, mine) == Way::kPut);
  CHECK(world.way_of(Opcode::kCopy, mine, far) == Way::kGet);
  CHECK(world.way_of(Opcode::kAdd, mine, 0) == Way::kLocal);
  CHECK(world.way_of(Opcode::kAdd, far, mine) == Way::kOwner);
}

TEST_CASE("gma: no CPU executes an atomic that a device executes",
          "[gma][route]") {
  const RouteWorld world(gmm::Reach::kSelfDeviceAtomics);
  const GlobalAddress mine = world.address(0, gmm::kStarterKey);
  CHECK(world.way_of(Opcode::kAdd, mine, 0, 8) == Way::kOwner);
  CHECK(world.way_of(Opcode::kAdd, mine, 0, 4) == Way::kLocal);
  CHECK(world.way_of(Opcode::kPut8, mine, 0) == Way::kLocal);
}

}  // namespace acp::gma
