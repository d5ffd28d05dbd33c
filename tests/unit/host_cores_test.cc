// Tests the cores that the leader of a host writes into its segment.
#include "runtime/host_cores.h"

#include <vector>

#include <catch2/catch.hpp>

#include "support/host_memory.h"

namespace acp::runtime {

namespace {

CpuMask cores(std::uint64_t first_word) {
  CpuMask mask;
  mask.words[0] = first_word;
  return mask;
}

/// The leader is rank 2, and rank 3 is the other rank of its host.
struct BoundHost {
  BoundHost() : peers(1) { peers[0].rank = 3; }

  const CpuMask& bound(std::uint32_t rank) const {
    const auto& segment = memory.segment();
    return segment.record(segment.slot_of_proc(rank)).bound_cpus;
  }

  test::HostMemory memory{4, 2, 2};
  std::vector<HostPeer> peers;
};

}  // namespace

TEST_CASE("host cores: ranks that may use all cores are not bound") {
  BoundHost host;
  host.peers[0].cpus = cores(0b1111);
  set_cores(host.memory.segment(), cores(0b1111), 4, host.peers);
  CHECK(host.memory.segment().header().cores == 4);
  CHECK(host.memory.segment().header().cpus == cores(0b1111));
  CHECK(host.bound(2) == CpuMask{});
  CHECK(host.bound(3) == CpuMask{});
}

TEST_CASE("host cores: the host has the cores of all of its bound ranks") {
  BoundHost host;
  host.peers[0].cpus = cores(0b1100);
  set_cores(host.memory.segment(), cores(0b0011), 2, host.peers);
  CHECK(host.memory.segment().header().cores == 4);
  CHECK(host.memory.segment().header().cpus == cores(0b1111));
  CHECK(host.bound(2) == cores(0b0011));
  CHECK(host.bound(3) == cores(0b1100));
}

TEST_CASE("host cores: a quota of the leader holds for the host") {
  BoundHost host;
  host.peers[0].cpus = cores(0b1111);
  set_cores(host.memory.segment(), cores(0b1111), 2, host.peers);
  CHECK(host.memory.segment().header().cores == 2);
}

TEST_CASE("host cores: a host has at least one core") {
  BoundHost host;
  set_cores(host.memory.segment(), {}, 0, host.peers);
  CHECK(host.memory.segment().header().cores == 1);
}

}  // namespace acp::runtime
