// The processes that one process reaches by RDMA devices, in a job with two
// networks: those that have proposed the same fabric (network_choice.cc). The
// published proposals cannot tell later, because acp_reset writes ranks there.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "protocol/host_segment.h"

namespace acp::runtime {

/// One bit for each process of the job. Mostly all processes of a host are on
/// one fabric. Then they share the bits in the host segment, which the process
/// in slot 0 writes. A process on another fabric has bits of its own.
///
/// Thread-safe after the constructor. The host segment must outlive this.
class RdmaPeers {
 public:
  /// Compares the published proposals with the proposal of `proc`, a process of
  /// this host that uses two networks. After Phase::kNetwork, and before `proc`
  /// comes to Phase::kInit.
  RdmaPeers(const protocol::HostSegment& segment, std::uint32_t proc);
  RdmaPeers(const RdmaPeers&) = delete;
  RdmaPeers& operator=(const RdmaPeers&) = delete;

  /// Whether RDMA devices lead to this process. After Phase::kInit.
  bool has(std::uint32_t proc) const noexcept {
    return (bits_[proc / 64].load(std::memory_order_relaxed) >> proc % 64 &
            1U) != 0;
  }

  /// Whether the bits are those in the host segment.
  bool are_shared() const noexcept { return own_.empty(); }

 private:
  // The constructor writes both members. The process in slot 0 writes the
  // shared bits in its constructor, and Phase::kInit orders that before every
  // has(). So all accesses are relaxed.
  std::vector<std::atomic<std::uint64_t>> own_;  ///< Empty: bits are shared.
  std::span<std::atomic<std::uint64_t>> bits_;   ///< Shared ones, or own_.
};

}  // namespace acp::runtime
