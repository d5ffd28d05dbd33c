// The completion queues of a device. A queue has room for all completions that
// a fixed number of connections can have, so it never overflows. More
// connections get another queue. No queue is resized, because not every device
// can do that; a second queue costs a look only beyond 256 connections.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "verbs/credit.h"
#include "verbs/resource.h"

namespace acp::verbs {

/// Entries of a send queue.
inline constexpr std::uint32_t kSendQueue = 128;
/// Completions that one connection can have in its queue: all sends, all
/// receives, and the receives of an attempt that was given up for it.
inline constexpr std::uint32_t kCompletionsPerConnection =
    kSendQueue + 2 * kReceivesPerConnection;
/// Connections per queue; fewer where the device's queues are smaller. A queue
/// for this many takes some 3 MiB.
inline constexpr std::uint32_t kConnectionsPerQueue = 256;

/// One thread at a time; guarded by the engine's lock.
class CompletionQueues {
 public:
  explicit CompletionQueues(CompletionChannel channel)
      : channel_(std::move(channel)) {}

  CompletionQueues(const CompletionQueues&) = delete;
  CompletionQueues& operator=(const CompletionQueues&) = delete;
  ~CompletionQueues();

  /// Makes the first queue. `connections` is the most that this process can
  /// have. kSystem, kNoMemory: with errno.
  [[nodiscard]] Status open(ibv_context& context,
                            const ibv_device_attr& limits,
                            std::uint32_t connections);

  /// Reserves room for one connection and returns its queue. Null: no queue has
  /// room and none can be made; with errno.
  ibv_cq* acquire() noexcept;
  /// Gives the room of a connection back.
  void release(const ibv_cq& queue) noexcept;

  /// Takes completions of one queue, in turn. They are valid until the next
  /// call and include failed ones. Negative: a queue is broken.
  int poll() noexcept;

  const ibv_wc& completion(int index) const noexcept {
    return completions_[static_cast<std::size_t>(index)];
  }

  /// Same contract as Transport::arm.
  bool arm() noexcept;
  /// Reads the notifications that made the descriptor readable.
  void take_notifications() noexcept;

  /// Becomes readable at the first completion after arm().
  int descriptor() const noexcept { return channel_->fd; }

 private:
  static constexpr int kBatch = 16;

  struct Queue {
    CompletionQueue queue;
    std::uint32_t connections = 0;  ///< Connections with room in it.
  };

  bool add_queue() noexcept;
  int poll(ibv_cq& queue) noexcept;

  CompletionChannel channel_;
  ibv_context* context_ = nullptr;
  std::uint32_t capacity_ = 0;  ///< Connections per queue.
  std::vector<Queue> queues_;   ///< At least one, once opened.
  std::size_t next_ = 0;        ///< Index of the queue that was polled last.
  std::array<ibv_wc, kBatch> completions_{};
  int stashed_ = 0;  ///< Found by arm(), for the next poll().
};

}  // namespace acp::verbs
