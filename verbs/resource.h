// Owning pointers to objects of libibverbs and librdmacm.
#pragma once

#include <memory>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

namespace acp::verbs {

/// Calls `release`. Its failure is ignored, since nothing can be done about it.
template <auto release>
struct Releaser {
  template <typename T>
  void operator()(T* object) const noexcept {
    static_cast<void>(release(object));
  }
};

using EventChannel =
    std::unique_ptr<rdma_event_channel, Releaser<rdma_destroy_event_channel>>;
using ProtectionDomain = std::unique_ptr<ibv_pd, Releaser<ibv_dealloc_pd>>;
using CompletionChannel =
    std::unique_ptr<ibv_comp_channel, Releaser<ibv_destroy_comp_channel>>;
using CompletionQueue = std::unique_ptr<ibv_cq, Releaser<ibv_destroy_cq>>;
using SharedReceiveQueue = std::unique_ptr<ibv_srq, Releaser<ibv_destroy_srq>>;
using QueuePair = std::unique_ptr<ibv_qp, Releaser<ibv_destroy_qp>>;
using MemoryRegion = std::unique_ptr<ibv_mr, Releaser<ibv_dereg_mr>>;

/// An rdma_cm id together with its queue pair, if it has one.
struct CmIdReleaser {
  void operator()(rdma_cm_id* id) const noexcept {
    if (id->qp != nullptr) {
      rdma_destroy_qp(id);
    }
    rdma_destroy_id(id);
  }
};

using CmId = std::unique_ptr<rdma_cm_id, CmIdReleaser>;

}  // namespace acp::verbs
