// The bits that tell a process which peers RDMA devices lead to, in a job with
// two networks. The processes of a host share them where they can.
#include "runtime/rdma_peers.h"

#include <cstdint>

#include <catch2/catch.hpp>

#include "runtime/proposals.h"
#include "support/host_memory.h"

namespace acp::runtime {

namespace {

constexpr std::uint32_t kProcs = 200;
/// Processes 130, 131 and 132 are of this host.
constexpr std::uint32_t kFirst = 130;
constexpr std::uint32_t kLocal = 3;

/// Every third process of the other hosts is on the fabric "one", every third
/// on "two", and the rest has no device.
Proposal proposal_of(std::uint32_t proc) {
  switch (proc % 3) {
    case 0: return propose_fabric("one");
    case 1: return propose_fabric("two");
    default: return kNoRdma;
  }
}

void propose(const protocol::HostSegment& segment,
             std::uint32_t proc,
             Proposal proposal) {
  segment.published(proc).proposal.store(proposal, std::memory_order_relaxed);
}

/// Whether the peers are exactly the processes with this proposal.
bool are_on(const RdmaPeers& peers,
            const protocol::HostSegment& segment,
            Proposal fabric) {
  for (std::uint32_t proc = 0; proc < kProcs; ++proc) {
    const auto proposal =
        segment.published(proc).proposal.load(std::memory_order_relaxed);
    if (peers.has(proc) != (proposal == fabric)) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("rdma peers: processes of a host on one fabric share their bits",
          "[runtime]") {
  const test::HostMemory memory(kProcs, kLocal, kFirst);
  const protocol::HostSegment& segment = memory.segment();
  for (std::uint32_t proc = 0; proc < kProcs; ++proc) {
    propose(segment, proc, proposal_of(proc));
  }
  const Proposal one = propose_fabric("one");
  const Proposal two = propose_fabric("two");
  propose(segment, kFirst, one);
  propose(segment, kFirst + 1, two);
  propose(segment, kFirst + 2, one);
  // A process asks after Phase::kInit only, so the order does not matter.
  const RdmaPeers third(segment, kFirst + 2);
  const RdmaPeers second(segment, kFirst + 1);
  const RdmaPeers first(segment, kFirst);
  CHECK(first.are_shared());
  CHECK_FALSE(second.are_shared());
  CHECK(third.are_shared());
  CHECK(are_on(first, segment, one));
  CHECK(are_on(second, segment, two));
  CHECK(are_on(third, segment, one));
}

TEST_CASE("rdma peers: acp_reset does not change them", "[runtime]") {
  const test::HostMemory memory(kProcs, kLocal, kFirst);
  const protocol::HostSegment& segment = memory.segment();
  const Proposal fabric = propose_fabric("one");
  propose(segment, 7, fabric);
  propose(segment, kFirst, fabric);
  propose(segment, kFirst + 1, fabric);
  const RdmaPeers first(segment, kFirst);
  const RdmaPeers second(segment, kFirst + 1);
  for (std::uint32_t proc = 0; proc < kProcs; ++proc) {
    propose(segment, proc, kProcs - proc - 1);
  }
  CHECK(second.has(7));
  CHECK(second.has(kFirst));
  CHECK_FALSE(second.has(8));
  CHECK_FALSE(second.has(kProcs - 1));
}

}  // namespace acp::runtime
