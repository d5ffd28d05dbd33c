// Joins the cores of a host's ranks. Called by bootstrap_join.cc alone.
#include "runtime/host_cores.h"

#include <algorithm>

namespace acp::runtime {

/// The cores of a host's ranks. A launcher may have bound each rank to some of
/// them; a quota of the control group can be less than that.
void set_cores(const protocol::HostSegment& segment,
               const CpuMask& own,
               std::uint32_t allowed,
               std::span<const HostPeer> peers) {
  CpuMask all = own;
  for (const HostPeer& peer : peers) {
    for (std::size_t i = 0; i < all.words.size(); ++i) {
      all.words[i] |= peer.cpus.words[i];
    }
  }
  protocol::HostHeader& header = segment.header();
  header.cpus = all;
  header.cores = std::max(
      1U, allowed < own.count() ? std::min(allowed, all.count()) : all.count());
  const auto bind = [&](std::uint32_t rank, const CpuMask& cpus) {
    if (!(cpus == all)) {
      segment.record(segment.slot_of_proc(rank)).bound_cpus = cpus;
    }
  };
  bind(segment.record(0).proc, own);
  for (const HostPeer& peer : peers) {
    bind(peer.rank, peer.cpus);
  }
}

}  // namespace acp::runtime
