// Queues of the operations that have requests or posts to send, by rank and
// color, and the bytes that their replies may bring.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "gma/endpoints.h"
#include "gma/operation.h"

namespace acp::gma {

/// The way to one rank in one color. Small, because each peer that was ever
/// spoken to has one: its queue is a list whose links lie in the operations.
/// Guarded by the engine's mutex.
class PeerQueue {
 public:
  explicit PeerQueue(const PeerEndpoint& to) : to_(to) {}

  const PeerEndpoint& to() const noexcept { return to_; }

  transport::Endpoint& endpoint() const noexcept { return *to_.endpoint; }

  /// True when an operation that is sent now would overtake others.
  bool is_listed() const noexcept { return is_listed_; }

  bool is_empty() const noexcept { return first_ == nullptr; }

  Operation& front() const noexcept { return *first_; }

  void pop_front() noexcept { remove(*first_); }

  /// Precondition: the operation is in this queue.
  void remove(Operation& operation) noexcept;

  /// Reserves room for a reply. False: replies under way may bring as much as
  /// is allowed. One reply may always be under way, however large.
  bool reserve_reply(std::uint64_t bytes) noexcept;

  void release_reply(std::uint64_t bytes) noexcept { reply_bytes_ -= bytes; }

 private:
  friend class PeerQueues;

  void push_back(Operation& operation) noexcept;

  PeerEndpoint to_;
  Operation* first_ = nullptr;     ///< First come, first sent.
  Operation* last_ = nullptr;      ///< Valid unless the queue is empty.
  std::uint64_t reply_bytes_ = 0;  ///< Bytes that replies under way may bring.
  bool is_listed_ = false;         ///< In PeerQueues::listed_.
};

/// All queues of this process; each is made on first use. Guarded by the
/// engine's mutex.
class PeerQueues {
 public:
  explicit PeerQueues(Endpoints& endpoints) : endpoints_(endpoints) {}

  /// Fails as Endpoints::endpoint_of does. The queue lives until forget_all().
  Result<PeerQueue*> queue_to(Rank rank, Color color);

  /// Appends the operation to the queue.
  void add(Operation& operation, PeerQueue& queue);

  /// Calls `send` with each queue that has operations. A queue that is empty
  /// afterwards leaves the list. `send` may add operations to any queue.
  template <typename Send>
  void for_each_listed(Send send) {
    for (std::size_t i = 0; i < listed_.size();) {
      PeerQueue& queue = *listed_[i];
      send(queue);
      if (queue.is_empty()) {
        queue.is_listed_ = false;
        listed_[i] = listed_.back();
        listed_.pop_back();
      } else {
        ++i;
      }
    }
  }

  bool has_listed() const noexcept { return !listed_.empty(); }

  /// The queues to a process, in all colors.
  std::vector<PeerQueue*> queues_to(transport::ProcId proc);

  /// Forgets all queues. Precondition: all are empty and not in use.
  void forget_all();

 private:
  Endpoints& endpoints_;
  std::unordered_map<std::uint64_t, PeerQueue> queues_;
  std::uint64_t newest_key_ = 0;    ///< The key of `newest_`.
  PeerQueue* newest_ = nullptr;     ///< The result of the last queue_to().
  std::vector<PeerQueue*> listed_;  ///< Queues that had operations to send.
};

}  // namespace acp::gma
