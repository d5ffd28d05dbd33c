// Which core each rank of the host has waited on last: a rank that waits for
// another one on its own core has to leave the core, or both wait for nothing.
#pragma once

#include <atomic>
#include <cstdint>

#include "protocol/host_segment.h"

namespace acp::runtime {

/// A view of the host segment's table of cores. Thread-safe.
class CoreTable {
 public:
  CoreTable(const protocol::HostSegment& segment,
            std::uint32_t my_slot) noexcept
      : cores_(segment.core_of_slot()),
        ranks_(segment.header().local_procs),
        mine_(my_slot) {}

  /// Publishes the core that this thread runs on as the one of its rank. True
  /// when another rank of the host has published the same core.
  ///
  /// An entry may be old: the kernel moves ranks while they compute, too. Who
  /// believes an old entry yields its core for nothing once or twice; who
  /// misses a new one finds it at its next look.
  bool is_shared_here() noexcept;

 private:
  std::atomic<std::uint32_t>* cores_;
  std::uint32_t ranks_;
  std::uint32_t mine_;
};

}  // namespace acp::runtime
