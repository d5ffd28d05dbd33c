// A host segment without a job, for tests of the structures in it.
#pragma once

#include <cstdint>
#include <numeric>

#include "gmm/doorbell.h"
#include "protocol/host_segment.h"

namespace acp::test {

/// Makes a segment and maps it. It cannot be moved, so views into it stay
/// valid.
class HostMemory {
 public:
  /// `local` of `procs` processes, from `first` on, are of this host.
  HostMemory(std::uint32_t procs, std::uint32_t local, std::uint32_t first = 0)
      : segment_(make(procs, local, first)) {}

  explicit HostMemory(std::uint32_t procs) : HostMemory(procs, procs) {}

  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  const protocol::HostSegment& segment() const noexcept { return segment_; }

 private:
  static protocol::HostSegment make(std::uint32_t procs,
                                    std::uint32_t local,
                                    std::uint32_t first) {
    protocol::HostPlan plan;
    plan.procs = procs;
    plan.local_procs.resize(local);
    std::iota(plan.local_procs.begin(), plan.local_procs.end(), first);
    plan.sizes.module_bytes = 1 << 20;
    const Result<UniqueFd> memory = protocol::create_host_segment(plan);
    ACP_ASSERT(memory.ok());
    Result<protocol::HostSegment> segment =
        protocol::HostSegment::map(memory.value().get());
    ACP_ASSERT(segment.ok());
    return std::move(*segment);
  }

  protocol::HostSegment segment_;
};

/// Counts the calls, and wakes no thread.
class CountingWaker final : public transport::ThreadWaker {
 public:
  void wake_thread(const protocol::SliceHeader& slice) noexcept override {
    ++calls;
    last = &slice;
  }

  int calls = 0;
  const protocol::SliceHeader* last = nullptr;
};

}  // namespace acp::test
