// Two queue pairs of one device that are connected to each other: what RDMA
// takes by itself, without a library on top.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <infiniband/verbs.h>

namespace acp::perf {

/// Calls `release`; a failure to release is nobody's to mend.
template <auto release>
struct RdmaReleaser {
  template <typename T>
  void operator()(T* object) const noexcept {
    static_cast<void>(release(object));
  }
};

/// One request between the same offset of both buffers.
struct RdmaRequest {
  ibv_wr_opcode opcode =
      IBV_WR_RDMA_WRITE;  ///< Or a read, fetch-and-add or compare-and-swap.
  std::size_t offset = 0;
  std::size_t bytes = 8;
  std::uint64_t operand = 0;  ///< What is added, or stored by a swap.
  std::uint64_t expected = 0;
};

/// Writes, reads and atomics of this process on its own memory, by way of the
/// device that acp_perf's job uses: the first of ACP_VERBS_DEVICES, or the
/// first with an active port. Not thread-safe.
class RdmaLoop {
 public:
  static constexpr std::size_t kBytes = 64 << 10;  ///< Of either buffer.
  static constexpr std::size_t kMostPosted = 16;

  RdmaLoop();

  /// "" when it can be used, else why not.
  const std::string& obstacle() const noexcept { return obstacle_; }

  /// Posts 1 to kMostPosted by one call, the last one signalled, and polls
  /// until it is complete, 10 seconds at most. False when one of them failed,
  /// and ever after a time-out.
  bool run(std::span<const RdmaRequest> requests);

  std::span<std::byte> near() noexcept { return near_; }

  std::span<std::byte> far() noexcept { return far_; }

 private:
  template <typename T, auto release>
  using Owned = std::unique_ptr<T, RdmaReleaser<release>>;
  using QueuePair = Owned<ibv_qp, ibv_destroy_qp>;

  bool open_device();
  bool create();
  QueuePair create_queue_pair();
  bool find_route();
  bool connect(ibv_qp& from, const ibv_qp& to);

  std::vector<std::byte> memory_;
  std::span<std::byte> near_;
  std::span<std::byte> far_;
  Owned<ibv_context, ibv_close_device> context_;
  Owned<ibv_pd, ibv_dealloc_pd> domain_;
  Owned<ibv_mr, ibv_dereg_mr> region_;
  Owned<ibv_cq, ibv_destroy_cq> completions_;
  QueuePair posting_;
  QueuePair answering_;
  ibv_port_attr port_{};
  std::uint8_t port_number_ = 1;
  ibv_ah_attr route_{};  ///< To the port itself.
  std::string obstacle_;
};

}  // namespace acp::perf
