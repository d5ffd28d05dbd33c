// The receive buffers of a device. They are in one shared receive queue. On a
// device without such queues, each queue pair has its own.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "verbs/buffer_pool.h"
#include "verbs/resource.h"

namespace acp::verbs {

/// Most buffers of a shared queue. Beyond that, its connections share them.
inline constexpr std::uint32_t kMaxReceives = 4096;

/// One thread at a time; guarded by the engine's lock.
class Receives {
 public:
  /// `most` limits the buffers of the shared queue, or of each queue pair.
  Receives(ibv_pd& domain, std::uint32_t most)
      : buffers_(domain), domain_(domain), max_buffers_(most) {}

  /// Makes the shared receive queue if the device supports it. kSystem,
  /// kNoMemory: with errno.
  [[nodiscard]] Status open(const ibv_device_attr& limits);

  /// Sets the receive fields for making a queue pair.
  void describe(ibv_qp_init_attr& wanted) const noexcept;

  /// Provides the buffers of a new queue pair, before it can receive.
  /// kNoMemory, kSystem: logged.
  [[nodiscard]] Status add(ibv_qp& pair);
  /// Undoes add(), before the queue pair is destroyed. Precondition: it has
  /// received nothing.
  void drop(const ibv_qp& pair);

  /// Queues the buffer of a completed receive for posting.
  void recycle(Buffer* buffer, const ibv_wc& completion) noexcept;
  /// Posts all queued buffers. False: a queue did not take them. Logged.
  [[nodiscard]] bool post_recycled() noexcept;

 private:
  static constexpr std::size_t kBatch = 16;

  /// A queue pair with buffers of its own.
  struct Pair {
    ibv_qp* pair = nullptr;
    std::vector<Buffer*> buffers;
  };

  Status grow_shared();
  Status fill(ibv_qp& pair);
  void append(Buffer* buffer) noexcept;
  bool post(ibv_qp* pair) noexcept;

  BufferPool buffers_;
  ibv_pd& domain_;
  std::uint32_t max_buffers_;
  SharedReceiveQueue shared_;      ///< Null: the device has none.
  std::uint32_t connections_ = 0;  ///< Users of the shared queue.
  /// By queue pair number. Empty with a shared queue.
  std::unordered_map<std::uint32_t, Pair> pairs_;

  /// Receives that wait to be posted, as a chain, to `recycled_to_`; null there
  /// means the shared queue.
  std::array<ibv_recv_wr, kBatch> receives_{};
  std::array<ibv_sge, kBatch> pieces_{};
  std::size_t recycled_ = 0;
  ibv_qp* recycled_to_ = nullptr;
  bool is_broken_ = false;  ///< A post has failed; kept until reported.
};

}  // namespace acp::verbs
