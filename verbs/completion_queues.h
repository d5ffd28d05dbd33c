// The completion queues of a device. A queue pair takes room for all
// completions that it can have, so no queue overflows. When none has room,
// another one is made. For a small queue pair it has a third of the entries
// that there are, so that idle connections pin little memory ahead. For a large
// one it has twice the size of the last queue. No queue is resized, because not
// every device can do that; each further queue costs a look in every poll.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "status/result.h"
#include "verbs/credit.h"
#include "verbs/resource.h"

namespace acp::verbs {

/// A queue pair is small at first, and its connection gets a large one when it
/// needs that. docs/verbs.md, "Small and large queue pairs".
enum class PairSize : std::uint8_t { kSmall, kLarge };

/// Entries of the send queue of a queue pair; powers of 2.
inline constexpr std::uint32_t kSmallSendQueue = 16;
inline constexpr std::uint32_t kSendQueue = 128;

constexpr std::uint32_t send_entries(PairSize size) noexcept {
  return size == PairSize::kLarge ? kSendQueue : kSmallSendQueue;
}

/// Completions that one queue pair can have in its queue. They are all sends,
/// all receives, and the receives of an attempt that was given up for it.
constexpr std::uint32_t completions_of(PairSize size) noexcept {
  return send_entries(size) + 2 * (size == PairSize::kLarge
                                       ? kReceivesPerConnection
                                       : kReceivesOfSmall);
}

/// Connections for which the first queue has room: small queue pairs, and large
/// ones. A queue for that takes less than 0.6 MiB, or 1 MiB where the device
/// rounds entries up to a power of 2. More connections then use the rest.
inline constexpr std::uint32_t kSmallPerQueue = 256;
inline constexpr std::uint32_t kLargePerQueue = 16;
/// Most completions of a queue, for 256 large queue pairs: 2.6 MiB.
inline constexpr std::uint32_t kMostCompletions =
    256 * completions_of(PairSize::kLarge);

/// One thread at a time; guarded by the engine's mutex.
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

  /// Reserves room for one queue pair and returns its queue. Null: no queue has
  /// room and none can be made; with errno.
  ibv_cq* acquire(PairSize size) noexcept;
  /// Gives the room of a queue pair back.
  void release(const ibv_cq& queue, PairSize size) noexcept;

  /// Entries of all queues, and those that queue pairs have taken.
  std::uint32_t entries() const noexcept;
  std::uint32_t taken() const noexcept;

  /// Takes completions of one queue, in turn. They are valid until the next
  /// call and include failed ones. Negative: a queue is broken.
  int poll() noexcept;

  const ibv_wc& completion(int index) const noexcept {
    return completions_[static_cast<std::size_t>(index)];
  }

  /// Keeps the contract of Transport::arm.
  bool arm() noexcept;
  /// Reads the notifications that made the descriptor readable.
  void take_notifications() noexcept;

  /// Becomes readable at the first completion after arm().
  int descriptor() const noexcept { return channel_->fd; }

 private:
  static constexpr int kBatch = 16;

  struct Queue {
    CompletionQueue queue;
    std::uint32_t entries = 0;
    /// Entries that queue pairs have reserved. Written by acquire() and
    /// release().
    std::uint32_t taken = 0;
  };

  std::uint32_t next_entries(PairSize size) const noexcept;
  bool add_queue(std::uint32_t entries) noexcept;
  int poll(ibv_cq& queue) noexcept;

  CompletionChannel channel_;
  // Written by open() alone.
  ibv_context* context_ = nullptr;
  std::uint32_t most_entries_ = 0;  ///< Most that a queue may have.

  /// At least one, once opened. add_queue() adds; a queue stays until the end.
  std::vector<Queue> queues_;
  /// Index of the queue that was polled last. Written by poll().
  std::size_t next_ = 0;
  /// Written by poll() and arm(), which take completions of a queue.
  std::array<ibv_wc, kBatch> completions_{};
  /// Found by arm(), for the next poll(), which resets it.
  int stashed_ = 0;
};

}  // namespace acp::verbs
