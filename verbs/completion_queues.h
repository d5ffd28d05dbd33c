// The completion queues of a device. Each has room for all that a number of
// connections can have outstanding, so none overflows; when it serves as many,
// another one is made. None is ever resized: not every device can do that, and
// what it costs to look into a second queue counts only beyond 256 connections.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "verbs/packet.h"
#include "verbs/resource.h"

namespace acp::verbs {

/// Work requests of a send queue, signalled ones and others.
inline constexpr std::uint32_t kSendQueue = 128;
/// Completions that a connection can have in its queue at a time: all sends,
/// all receives, and the receives of an attempt that was given up for it.
inline constexpr std::uint32_t kCompletionsPerConnection =
    kSendQueue + 2 * kReceivesPerConnection;
/// Connections of one queue; fewer where the device's queues are smaller. A
/// queue of so many takes some 3 MiB.
inline constexpr std::uint32_t kConnectionsPerQueue = 256;

/// One thread at a time.
class CompletionQueues {
 public:
  explicit CompletionQueues(CompletionChannel channel)
      : channel_(std::move(channel)) {}

  CompletionQueues(const CompletionQueues&) = delete;
  CompletionQueues& operator=(const CompletionQueues&) = delete;
  ~CompletionQueues();

  /// Makes the first queue. `connections` is how many this process can have at
  /// most. kSystem, kNoMemory: with errno.
  [[nodiscard]] Status open(ibv_context& context,
                            const ibv_device_attr& limits,
                            std::uint32_t connections);

  /// A queue with room for one more connection, which takes that room. Null:
  /// there is none, and no other can be made; with errno.
  ibv_cq* acquire() noexcept;
  /// The connection is no more.
  void release(const ibv_cq& queue) noexcept;

  /// Some of what has completed, of one queue after the other; valid until the
  /// next call. Those that failed are among them. Negative: a queue is broken.
  int poll() noexcept;

  const ibv_wc& completion(int index) const noexcept {
    return completions_[static_cast<std::size_t>(index)];
  }

  /// As Transport::arm.
  bool arm() noexcept;
  /// Reads the notifications that made the descriptor readable.
  void take_notifications() noexcept;

  /// Becomes readable when something has completed after arm().
  int descriptor() const noexcept { return channel_->fd; }

 private:
  static constexpr int kBatch = 16;

  struct Queue {
    CompletionQueue queue;
    std::uint32_t connections = 0;  ///< That have their room in it.
  };

  bool add_queue() noexcept;
  int poll(ibv_cq& queue) noexcept;

  CompletionChannel channel_;
  ibv_context* context_ = nullptr;
  std::uint32_t capacity_ = 0;  ///< Connections of a queue.
  std::vector<Queue> queues_;   ///< At least one, once opened.
  std::size_t next_ = 0;        ///< The queue to look into first.
  std::array<ibv_wc, kBatch> completions_{};
  int stashed_ = 0;  ///< Completions that arm() found.
};

}  // namespace acp::verbs
