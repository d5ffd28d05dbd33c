// Puts messages into the ring of a slice and takes them out. Called by
// ShmTransport; only the process that owns the slice takes. Neither end waits.
#include "transport/shm/command_ring.h"

#include <algorithm>

namespace acp::shm {

/// Takes a ticket before it writes, so that senders fill different entries at
/// one time. The sequence is stored last: the receiver then sees the whole
/// message.
Status CommandRing::push(
    std::uint32_t from,
    std::uint32_t color,
    std::span<const std::span<const std::byte>> parts) noexcept {
  std::size_t total = 0;
  for (const std::span<const std::byte> part : parts) {
    total += part.size();
  }
  if (total > protocol::kRingMessageBytes) {
    return Status::kTooLarge;
  }
  std::uint64_t ticket = header_->ring_tail.load(std::memory_order_relaxed);
  while (true) {
    const std::uint64_t sequence = load_sequence(entry(ticket), ticket);
    const auto distance = static_cast<std::int64_t>(sequence - ticket);
    if (distance < 0) {
      return Status::kAgain;
    }
    if (distance > 0) {
      ticket = header_->ring_tail.load(std::memory_order_relaxed);
    } else if (header_->ring_tail.compare_exchange_weak(
                   ticket, ticket + 1, std::memory_order_relaxed)) {
      break;
    }
  }
  Entry& mine = entry(ticket);
  mine.from = from;
  mine.color = color;
  std::byte* to = payload(mine);
  for (const std::span<const std::byte> part : parts) {
    to = std::copy(part.begin(), part.end(), to);
  }
  mine.size = static_cast<std::uint32_t>(total);
  // seq_cst: this store comes before the load of `asleep` by which the caller
  // finds out whether the consumer sleeps.
  mine.sequence.store(ticket + 1 - ticket % protocol::kRingEntries,
                      std::memory_order_seq_cst);
  return Status::kOk;
}

bool CommandRing::front(RingMessage& message) noexcept {
  const std::uint64_t ticket =
      header_->ring_head.load(std::memory_order_relaxed);
  Entry& oldest = entry(ticket);
  if (load_sequence(oldest, ticket) != ticket + 1 ||
      oldest.size > protocol::kRingMessageBytes) {
    return false;
  }
  message.from = oldest.from;
  message.color = oldest.color;
  message.bytes = {payload(oldest), oldest.size};
  return true;
}

void CommandRing::release() noexcept {
  const std::uint64_t ticket =
      header_->ring_head.load(std::memory_order_relaxed);
  entry(ticket).sequence.store(
      ticket + protocol::kRingEntries - ticket % protocol::kRingEntries,
      std::memory_order_release);
  header_->ring_head.store(ticket + 1, std::memory_order_relaxed);
}

bool CommandRing::is_empty() const noexcept {
  const std::uint64_t ticket =
      header_->ring_head.load(std::memory_order_relaxed);
  const Entry& oldest = entry(ticket);
  // seq_cst pairs with push(): the consumer has stored `asleep` before it loads
  // the sequence here.
  return oldest.sequence.load(std::memory_order_seq_cst) +
             ticket % protocol::kRingEntries !=
         ticket + 1;
}

}  // namespace acp::shm
