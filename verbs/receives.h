// The receive buffers of a device. They lie in one shared receive queue; on a
// device that has none, each queue pair has its own.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "verbs/buffer_pool.h"
#include "verbs/resource.h"

namespace acp::verbs {

/// Buffers of a shared queue: beyond this many its connections share.
inline constexpr std::uint32_t kMaxReceives = 4096;

/// One thread at a time.
class Receives {
 public:
  /// At most `most` buffers: in the shared queue, or in each queue pair.
  Receives(ibv_pd& domain, std::uint32_t most)
      : buffers_(domain), domain_(domain), max_buffers_(most) {}

  /// Makes the shared receive queue, if the device has such. kSystem,
  /// kNoMemory: with errno.
  [[nodiscard]] Status open(const ibv_device_attr& limits);

  /// What a queue pair has to be made with.
  void describe(ibv_qp_init_attr& wanted) const noexcept;

  /// A queue pair was made that may not receive yet: provides a buffer for
  /// everything that may arrive by it at a time. kNoMemory, kSystem: logged.
  [[nodiscard]] Status add(ibv_qp& pair);
  /// The opposite, before the queue pair is destroyed. It has received nothing.
  void drop(const ibv_qp& pair);

  /// Gives the buffer of a receive back to the device: all at once in the end.
  void recycle(Buffer* buffer, const ibv_wc& completion) noexcept;
  /// False: a queue does not take its buffers. Logged.
  [[nodiscard]] bool post_recycled() noexcept;

 private:
  static constexpr std::size_t kBatch = 16;

  /// A queue pair with receives of its own.
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
  std::uint32_t connections_ = 0;  ///< That use the shared queue.
  /// By the number of the queue pair; empty with a shared queue.
  std::unordered_map<std::uint32_t, Pair> pairs_;

  /// Receives to be posted, chained, to this queue pair or the shared queue.
  std::array<ibv_recv_wr, kBatch> receives_{};
  std::array<ibv_sge, kBatch> pieces_{};
  std::size_t recycled_ = 0;
  ibv_qp* recycled_to_ = nullptr;
  bool is_broken_ = false;
};

}  // namespace acp::verbs
