// Queues of operations by peer. The operation runner adds operations and sends
// their messages; this file sends nothing by itself.
#include "gma/peer_queue.h"

#include "base/assert.h"

namespace acp::gma {

namespace {

/// Bounds the reply bytes that a target stores for one initiator
/// (docs/engine.md).
constexpr std::uint64_t kMaxReplyBytes = 1 << 20;

std::uint64_t queue_key(Rank rank, Color color) {
  return std::uint64_t{rank} << 8 | color;
}

}  // namespace

void PeerQueue::push_back(Operation& operation) noexcept {
  ACP_ASSERT(operation.next_unsent == nullptr);
  (is_empty() ? first_ : last_->next_unsent) = &operation;
  last_ = &operation;
}

void PeerQueue::remove(Operation& operation) noexcept {
  Operation* before = nullptr;
  for (Operation* one = first_; one != &operation; one = one->next_unsent) {
    ACP_ASSERT(one != nullptr);
    before = one;
  }
  (before == nullptr ? first_ : before->next_unsent) = operation.next_unsent;
  if (last_ == &operation) {
    last_ = before;
  }
  operation.next_unsent = nullptr;
}

bool PeerQueue::reserve_reply(std::uint64_t bytes) noexcept {
  if (reply_bytes_ != 0 && reply_bytes_ + bytes > kMaxReplyBytes) {
    return false;
  }
  reply_bytes_ += bytes;
  return true;
}

/// Most operations go to the peer of the operation before.
Result<PeerQueue*> PeerQueues::queue_to(Rank rank, Color color) {
  const std::uint64_t key = queue_key(rank, color);
  if (newest_ != nullptr && newest_key_ == key) {
    return newest_;
  }
  auto known = queues_.find(key);
  if (known == queues_.end()) {
    const Result<PeerEndpoint> to = endpoints_.endpoint_of(rank, color);
    if (!to.ok()) {
      return to.status();
    }
    known = queues_.try_emplace(key, to.value()).first;
  }
  newest_key_ = key;
  newest_ = &known->second;
  return newest_;
}

void PeerQueues::add(Operation& operation, PeerQueue& queue) {
  operation.has_unsent = true;
  queue.push_back(operation);
  if (!queue.is_listed_) {
    queue.is_listed_ = true;
    listed_.push_back(&queue);
  }
}

std::vector<PeerQueue*> PeerQueues::queues_to(transport::ProcId proc) {
  std::vector<PeerQueue*> found;
  for (auto& [key, queue] : queues_) {
    if (queue.to().proc == proc) {
      found.push_back(&queue);
    }
  }
  return found;
}

void PeerQueues::forget_all() {
  ACP_ASSERT(listed_.empty());
  newest_ = nullptr;
  queues_.clear();
}

}  // namespace acp::gma
