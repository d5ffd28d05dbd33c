// The receive buffers of a device: as many as the windows of its connections
// promise, and some for empty packets. They are in one shared receive queue. On
// a device without such queues, each queue pair has its own.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "status/result.h"
#include "verbs/buffer_pool.h"
#include "verbs/completion_queues.h"
#include "verbs/resource.h"

namespace acp::verbs {

/// Most buffers of a shared queue. Windows do not grow beyond that. More
/// connections share the buffers of their smallest windows.
inline constexpr std::uint32_t kMaxReceives = 4096;

/// Most buffers of a shared queue that are kept for empty packets.
inline constexpr std::uint32_t kMostForEmpty = 64;

/// Buffers that a device registers for receives when it is opened. More are
/// registered for windows of more than one packet. Idle connections beyond the
/// first 80 also need more: one buffer for four of them. So an idle connection
/// never adds more than a fourth of a buffer to the registered memory. That
/// memory grows by 16 buffers at a time.
inline constexpr std::uint32_t kReceivesAtStart = 96;

/// Windows of one packet that have a buffer each in a shared queue. Beyond
/// that number, kSharers windows have one buffer together at first.
inline constexpr std::uint32_t kUnshared = 16;
inline constexpr std::uint32_t kSharers = 4;

/// One thread at a time; guarded by the engine's mutex.
class Receives {
 public:
  /// `most` limits the buffers of the shared queue, or of each queue pair.
  Receives(ibv_pd& domain, std::uint32_t most)
      : buffers_(domain), domain_(domain), max_buffers_(most) {}

  /// Makes the shared receive queue if the device supports it. kSystem,
  /// kNoMemory: with errno.
  [[nodiscard]] Status open(const ibv_device_attr& limits);

  /// Registers the buffers of the start. Call once, after open(). kNoMemory:
  /// logged.
  [[nodiscard]] Status register_first();

  /// Sets the receive fields for making a queue pair.
  void describe(ibv_qp_init_attr& wanted, PairSize size) const noexcept;

  /// Provides the buffers of a new queue pair, before it can receive: for a
  /// window of kIdleWindow. kNoMemory, kSystem: logged.
  [[nodiscard]] Status add(ibv_qp& pair);
  /// Undoes add(), before the queue pair is destroyed. Precondition: its
  /// connection has received nothing by it, or another queue pair has taken
  /// over.
  void drop(const ibv_qp& pair);
  /// A queue pair of add() takes over the window of a connection, of this many
  /// packets. Without more buffers the peer finds fewer of them for a while.
  /// Precondition: no recycled buffer is queued.
  void take_over(const ibv_qp& pair, std::uint32_t window);

  /// A device says that this shared queue runs low. If it is the one here,
  /// fewer windows share a buffer from now on. Precondition: no recycled buffer
  /// is queued.
  void on_low(const ibv_srq* queue);

  /// Posts buffers for a window that is larger by `count` packets. False: there
  /// are no more. Precondition: no recycled buffer is queued.
  [[nodiscard]] bool grow(const ibv_qp& pair, std::uint32_t count);
  /// The window is smaller by `count` packets. Buffers that are too many leave
  /// their queue with the next packets.
  void shrink(const ibv_qp& pair, std::uint32_t count) noexcept;

  /// Buffers that the windows of all connections promise.
  std::uint32_t promised() const noexcept;
  /// Buffers that are posted.
  std::uint32_t posted() const noexcept;

  /// Buffers that are registered.
  std::size_t registered() const noexcept { return buffers_.size(); }

  /// Queues the buffer of a completed receive for posting, or keeps it when its
  /// queue has enough.
  void recycle(Buffer* buffer, const ibv_wc& completion) noexcept;
  /// Posts all queued buffers. False: a queue did not take them. Logged.
  [[nodiscard]] bool post_recycled() noexcept;

 private:
  static constexpr std::size_t kBatch = 16;

  /// A receive queue: the shared one, or that of a queue pair. add(), drop(),
  /// take_over(), grow() and shrink() write the counts of users and windows.
  /// append() and recycle() write the buffers.
  struct Queue {
    ibv_qp* pair = nullptr;          ///< Null: the shared queue.
    std::uint32_t connections = 0;   ///< Its users.
    std::uint32_t promised = 0;      ///< Sum of their windows.
    std::uint32_t posted = 0;        ///< Buffers, with those to be posted.
    std::vector<Buffer*> buffers{};  ///< Posted to `pair`.
  };

  Queue* queue_of(std::uint32_t pair) noexcept;
  std::uint32_t needed(const Queue& queue) const noexcept;
  std::uint32_t wanted(const Queue& queue) const noexcept;
  void watch() noexcept;
  Status fill(Queue& queue);
  void append(Queue& queue, Buffer* buffer);
  bool post(ibv_qp* pair) noexcept;

  BufferPool buffers_;  ///< register_first() and fill() grow it.
  ibv_pd& domain_;
  // Written by open() alone.
  std::uint32_t max_buffers_;
  SharedReceiveQueue shared_;  ///< Null: the device has none.

  Queue shared_queue_;  ///< The buffers of shared_.
  /// Windows of one packet that share a buffer. Halved by on_low(); 1 where the
  /// device does not tell when the queue runs low, as watch() finds out.
  std::uint32_t sharers_ = kSharers;
  /// By queue pair number. Empty with a shared queue. add() inserts, and drop()
  /// erases.
  std::unordered_map<std::uint32_t, Queue> pairs_;
  /// False: no more could be registered. Written by grow(), which then tries no
  /// more.
  bool has_memory_ = true;

  /// Receives that wait to be posted, as a list, to `recycled_to_`; null there
  /// means the shared queue. append() adds, and post() empties the list.
  /// recycle() writes `recycled_to_`.
  std::array<ibv_recv_wr, kBatch> receives_{};
  std::array<ibv_sge, kBatch> pieces_{};
  std::size_t recycled_ = 0;  ///< How many of receives_ wait.
  ibv_qp* recycled_to_ = nullptr;
  /// A post has failed. Set by take_over(), on_low(), grow() and recycle(), and
  /// never reset. post_recycled() reports it.
  bool is_broken_ = false;
};

}  // namespace acp::verbs
