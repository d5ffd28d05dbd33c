// Making, polling and arming the completion queues of a device. Called by
// Device and by VerbsTransport. It never waits for a completion, and polling
// allocates nothing.
#include "verbs/completion_queues.h"

#include <algorithm>
#include <bit>
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
  constexpr std::uint32_t kLeast = completions_of(PairSize::kLarge);
  most_entries_ =
      std::clamp(static_cast<std::uint32_t>(std::max(limits.max_cqe, 0)),
                 kLeast, kMostCompletions);
  const std::uint32_t first = std::min(
      most_entries_,
      std::min(connections, kSmallPerQueue) * completions_of(PairSize::kSmall) +
          std::min(connections, kLargePerQueue) * kLeast);
  if (!add_queue(first)) {
    return errno == ENOMEM ? Status::kNoMemory : Status::kSystem;
  }
  return Status::kOk;
}

/// The device may give a queue more entries than it was asked for: many round
/// up to a power of 2. Queue pairs use them as well.
bool CompletionQueues::add_queue(std::uint32_t entries) noexcept {
  CompletionQueue made(ibv_create_cq(context_, static_cast<int>(entries),
                                     nullptr, channel_.get(), 0));
  if (made == nullptr) {
    return false;
  }
  const auto given = static_cast<std::uint32_t>(made->cqe);
  queues_.push_back(
      {.queue = std::move(made), .entries = std::max(entries, given)});
  return true;
}

/// Entries of the queue that is made when a queue pair of this size finds no
/// room. A small one asks for a power of 2 less 1, which no device rounds up.
std::uint32_t CompletionQueues::next_entries(PairSize size) const noexcept {
  constexpr std::uint32_t kLeast = completions_of(PairSize::kLarge);
  const std::uint32_t wanted = size == PairSize::kLarge
                                   ? 2 * queues_.back().entries
                                   : std::bit_floor(entries() / 3 + 1) - 1;
  return std::clamp(wanted, kLeast, most_entries_);
}

/// Fills the first queue with room, and makes a new queue when all are full.
ibv_cq* CompletionQueues::acquire(PairSize size) noexcept {
  const std::uint32_t wanted = completions_of(size);
  auto found = std::ranges::find_if(queues_, [wanted](const Queue& each) {
    return each.entries - each.taken >= wanted;
  });
  if (found == queues_.end()) {
    if (!add_queue(next_entries(size))) {
      return nullptr;
    }
    found = queues_.end() - 1;
  }
  found->taken += wanted;
  return found->queue.get();
}

void CompletionQueues::release(const ibv_cq& queue, PairSize size) noexcept {
  const auto found = std::ranges::find_if(queues_, [&queue](const Queue& each) {
    return each.queue.get() == &queue;
  });
  found->taken -= completions_of(size);
}

std::uint32_t CompletionQueues::entries() const noexcept {
  std::uint32_t sum = 0;
  for (const Queue& each : queues_) {
    sum += each.entries;
  }
  return sum;
}

std::uint32_t CompletionQueues::taken() const noexcept {
  std::uint32_t sum = 0;
  for (const Queue& each : queues_) {
    sum += each.taken;
  }
  return sum;
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
