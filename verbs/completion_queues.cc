// Making, polling and arming the completion queues of a device. Called by
// Device and by VerbsTransport.
#include "verbs/completion_queues.h"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace acp::verbs {

CompletionQueues::~CompletionQueues() {
  take_notifications();  // an unread one would keep its queue from ending
}

Status CompletionQueues::open(ibv_context& context,
                              const ibv_device_attr& limits,
                              std::uint32_t connections) {
  context_ = &context;
  const auto fitting = static_cast<std::uint32_t>(std::max(limits.max_cqe, 0)) /
                       kCompletionsPerConnection;
  capacity_ =
      std::clamp(std::min(connections, fitting), 1U, kConnectionsPerQueue);
  if (!add_queue()) {
    return errno == ENOMEM ? Status::kNoMemory : Status::kSystem;
  }
  return Status::kOk;
}

bool CompletionQueues::add_queue() noexcept {
  CompletionQueue made(ibv_create_cq(
      context_, static_cast<int>(capacity_ * kCompletionsPerConnection),
      nullptr, channel_.get(), 0));
  if (made == nullptr) {
    return false;
  }
  queues_.push_back({.queue = std::move(made)});
  return true;
}

/// Fills the first queue with room, and makes a new queue when all are full.
ibv_cq* CompletionQueues::acquire() noexcept {
  auto found = std::ranges::find_if(queues_, [this](const Queue& each) {
    return each.connections < capacity_;
  });
  if (found == queues_.end()) {
    if (!add_queue()) {
      return nullptr;
    }
    found = queues_.end() - 1;
  }
  ++found->connections;
  return found->queue.get();
}

void CompletionQueues::release(const ibv_cq& queue) noexcept {
  const auto found = std::ranges::find_if(queues_, [&queue](const Queue& each) {
    return each.queue.get() == &queue;
  });
  --found->connections;
}

int CompletionQueues::poll(ibv_cq& queue) noexcept {
  return ibv_poll_cq(&queue, kBatch, completions_.data());
}

int CompletionQueues::poll() noexcept {
  if (stashed_ != 0) {
    return std::exchange(stashed_, 0);
  }
  // Begins after the queue that had the last completion, so that a queue that
  // is never empty does not starve the rest.
  for (std::size_t i = 0; i < queues_.size(); ++i) {
    next_ = next_ + 1 < queues_.size() ? next_ + 1 : 0;
    const int count = poll(*queues_[next_].queue);
    if (count != 0) {
      return count;
    }
  }
  return 0;
}

/// Requests a notification of each queue, then looks into it. A completion
/// after the request makes the descriptor readable, so none is missed.
bool CompletionQueues::arm() noexcept {
  if (stashed_ != 0) {
    return false;
  }
  for (const Queue& each : queues_) {
    if (ibv_req_notify_cq(each.queue.get(), 0) != 0) {
      return false;
    }
  }
  // A completion from before the request makes no notification, so each queue
  // is looked into once. The first one found ends the search, because the
  // caller will not sleep then.
  for (std::size_t i = 0; i < queues_.size() && stashed_ == 0; ++i) {
    stashed_ = std::max(0, poll(*queues_[i].queue));
  }
  return stashed_ == 0;
}

void CompletionQueues::take_notifications() noexcept {
  // Each queue has at most one notification: one per request.
  for (std::size_t i = 0; i < queues_.size(); ++i) {
    ibv_cq* queue = nullptr;
    void* context = nullptr;
    if (ibv_get_cq_event(channel_.get(), &queue, &context) != 0) {
      return;
    }
    ibv_ack_cq_events(queue, 1);
  }
}

}  // namespace acp::verbs
