// The core on which each rank of the host has waited last. Two ranks may get
// the same core. The rank that waits there has to leave it to the rank that it
// waits for.
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

  /// Publishes the core that this thread runs on as the core of its rank. True
  /// when another rank of the host has published the same core.
  ///
  /// An entry may be old: the kernel moves ranks while they compute, too. A
  /// rank that believes an old entry yields its core once or twice in vain. A
  /// rank that misses a new entry finds it at its next look.
  bool is_shared_here() noexcept;

 private:
  std::atomic<std::uint32_t>* cores_;  ///< 1 + core, by slot; each is written
                                       ///< by its rank. 0: has not waited.
  std::uint32_t ranks_;                ///< Entries of cores_.
  std::uint32_t mine_;                 ///< This rank's entry.
};

}  // namespace acp::runtime
