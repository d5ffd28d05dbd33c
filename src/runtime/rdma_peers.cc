// Writes the bits of the processes on a fabric. Called by network_choice.cc
// while a process joins the job; makes no system call.
#include "runtime/rdma_peers.h"

#include <algorithm>

namespace acp::runtime {

namespace {

std::uint32_t proposal_of(const protocol::HostSegment& segment,
                          std::uint32_t proc) noexcept {
  return segment.published(proc).proposal.load(std::memory_order_relaxed);
}

}  // namespace

/// The process in slot 0 decides as its neighbours on the same fabric do, from
/// the same proposals. So where their proposals are equal, it uses two networks
/// as well, and writes the bits.
RdmaPeers::RdmaPeers(const protocol::HostSegment& segment, std::uint32_t proc)
    : bits_(segment.fabric_bits()) {
  const std::uint32_t procs = segment.header().procs;
  const std::uint32_t fabric = proposal_of(segment, proc);
  const std::uint32_t first = segment.record(0).proc;
  if (proc != first) {
    if (proposal_of(segment, first) == fabric) {
      return;
    }
    own_ = std::vector<std::atomic<std::uint64_t>>(bits_.size());
    bits_ = own_;
  }
  for (std::uint32_t word = 0; word < bits_.size(); ++word) {
    std::uint64_t bits = 0;
    const std::uint32_t end = std::min(procs, (word + 1) * 64);
    for (std::uint32_t peer = word * 64; peer < end; ++peer) {
      bits |= std::uint64_t{proposal_of(segment, peer) == fabric} << peer % 64;
    }
    bits_[word].store(bits, std::memory_order_relaxed);
  }
}

}  // namespace acp::runtime
