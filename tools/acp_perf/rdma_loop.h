// Two queue pairs of one device that are connected to each other. Raw rows
// measure with them the time that RDMA takes without ACP.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <infiniband/verbs.h>

#include "rdma_library.h"

namespace acp::perf {

/// Deleter that calls a function of libibverbs. It ignores failures, which have
/// no remedy.
template <auto release>
struct RdmaReleaser {
  template <typename T>
  void operator()(T* object) const noexcept {
    static_cast<void>((rdma_library()->*release)(object));
  }
};

/// One request between the same offset of both buffers.
struct RdmaRequest {
  /// A write, read, fetch-and-add or compare-and-swap.
  ibv_wr_opcode opcode = IBV_WR_RDMA_WRITE;
  std::size_t offset = 0;
  std::size_t bytes = 8;
  std::uint64_t operand = 0;  ///< The value to add, or to store in a swap.
  std::uint64_t expected = 0;
};

/// Writes, reads and atomics of this process on its own memory, by way of the
/// device that acp_perf's job uses. It is the first of ACP_VERBS_DEVICES, or
/// the first with an active port. Not thread-safe.
class RdmaLoop {
 public:
  static constexpr std::size_t kBytes = 64 << 10;  ///< Size of each buffer.
  static constexpr std::size_t kMostPosted = 16;

  RdmaLoop();

  /// Why the loop cannot be used; "" when it can.
  const std::string& obstacle() const noexcept { return obstacle_; }

  /// Posts 1 to kMostPosted requests by one call, the last signalled, and polls
  /// for its completion, 10 seconds at most. False when a request failed. After
  /// a time-out every later run is false.
  bool run(std::span<const RdmaRequest> requests);

  std::span<std::byte> near() noexcept { return near_; }

  std::span<std::byte> far() noexcept { return far_; }

 private:
  template <typename T, auto release>
  using Owned = std::unique_ptr<T, RdmaReleaser<release>>;
  using QueuePair = Owned<ibv_qp, &RdmaLibrary::ibv_destroy_qp>;

  bool open_device();
  bool query_port();
  bool create();
  QueuePair create_queue_pair();
  bool find_route();
  bool connect(ibv_qp& from, const ibv_qp& to);

  const RdmaLibrary* verbs_;  ///< Null: the machine has no libibverbs.
  std::vector<std::byte> memory_;
  std::span<std::byte> near_;
  std::span<std::byte> far_;
  Owned<ibv_context, &RdmaLibrary::ibv_close_device> context_;
  Owned<ibv_pd, &RdmaLibrary::ibv_dealloc_pd> domain_;
  Owned<ibv_mr, &RdmaLibrary::ibv_dereg_mr> region_;
  Owned<ibv_cq, &RdmaLibrary::ibv_destroy_cq> completions_;
  QueuePair posting_;
  QueuePair answering_;
  ibv_port_attr port_{};
  std::uint8_t port_number_ = 1;
  ibv_ah_attr route_{};  ///< Path from the port to itself.
  std::string obstacle_;
};

}  // namespace acp::perf
