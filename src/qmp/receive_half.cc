// The receiving half: posts grants, takes messages out of entries, and reports
// to the sender which entries are free. Called by Exchange under its lock;
// never waits.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "acp/extension.h"
#include "qmp/block_copy.h"
#include "qmp/half.h"

namespace qmp {

namespace {

/// How long a short receive waits before it posts a grant after all. The clock
/// goes in steps of up to 10 ms, so the wait is 10 ms or more.
constexpr std::uint64_t kLateNs = 20'000'000;

}  // namespace

ReceiveHalf::ReceiveHalf(const ChannelId& id, LibraryMemory& library)
    : Half(id, library) {
  (void)allocate(sizeof(ReceiverHalf));
}

ReceiveHalf::~ReceiveHalf() {
  for (Transfer* each : posted_) {
    drop(*each);
  }
}

void ReceiveHalf::abandon(Transfer& transfer) {
  std::erase(posted_, &transfer);
}

bool ReceiveHalf::connect(acp_ga_t peer) {
  return peer_.connect(peer, sizeof(SenderHalf), library_);
}

void ReceiveHalf::start(Transfer& transfer, Batch* batch) {
  transfer.number = started_++;
  transfer.length = 0;
  transfer.has_grant = false;
  transfer.waits_since_ns = 0;
  posted_.push_back(&transfer);
  if (transfer.memory->size() > kEagerBytes) {
    (void)post_grant(transfer, batch);
  }
}

/// The memory that the sender may put into: that of the program, where one
/// grant can describe it, or else a packed buffer. Capacity 0: no memory.
Grant ReceiveHalf::grant_of(Transfer& transfer) {
  const std::size_t capacity = transfer.memory->size();
  if (capacity <= kEagerBytes) {
    return {ACP_GA_NULL, capacity, 0, 0, 0};
  }
  if (!transfer.packed &&
      (transfer.memory->is_direct() ||
       (peer_.is_on_this_host() &&
        transfer.memory->is_scattered_by_peers(library_)))) {
    const acp_ga_t address = transfer.memory->address(library_);
    if (address != ACP_GA_NULL) {
      const Run& run = transfer.memory->first();
      return {address, capacity, run.block, run.stride, run.count};
    }
  }
  if (!transfer.packed) {
    transfer.packed = library_.allocate(capacity);
  }
  if (!transfer.packed) {
    transfer.status = QMP_NOMEM_ERR;
    return {ACP_GA_NULL, 0, 0, 0, 0};
  }
  return {transfer.packed.address, capacity, capacity, 0, 1};
}

/// Tells the sender's network how to reach the memory of a grant, in front of
/// the grant itself. So the sender need not ask.
void ReceiveHalf::announce(const Grant& grant) const {
  if (grant.address == ACP_GA_NULL || peer_.is_on_this_host()) {
    return;
  }
  const Span span = span_of(grant);
  (void)acpx_announce_memory(
      grant.address + static_cast<std::uint64_t>(span.low), span.bytes,
      static_cast<int>(id().peer));
}

/// Posts a grant if message number - 16 is consumed (invariant 2). False: the
/// peer is not connected, or there is no room now; advance() tries again.
bool ReceiveHalf::post_grant(Transfer& transfer, Batch* batch) {
  const std::size_t index = entry_of(transfer.number);
  if (!peer_.is_connected() || !is_in_window(transfer.number)) {
    return false;
  }
  const std::size_t word = index * sizeof(Line);
  const std::size_t offset = word + offsetof(Line, bytes);
  std::byte* room = peer_.room(index, offset);
  if (room == nullptr) {
    return false;
  }
  const Grant grant = grant_of(transfer);
  announce(grant);
  std::memcpy(room, &grant, sizeof grant);
  const std::uint64_t value = transfer.number + 1;
  if (peer_.signal(index, offset, sizeof grant, word, value - words_[index],
                   batch) == Posted::kLater) {
    return false;
  }
  words_[index] = value;
  transfer.has_grant = true;
  return true;
}

void ReceiveHalf::post_late_grants(std::uint64_t now_ns) {
  if (is_closing_) {
    return;
  }
  for (Transfer* transfer : posted_) {
    if (!is_in_window(transfer->number)) {
      return;
    }
    if (transfer->has_grant) {
      continue;
    }
    if (transfer->waits_since_ns == 0) {
      transfer->waits_since_ns = now_ns;
    } else if (now_ns - transfer->waits_since_ns >= kLateNs) {
      (void)post_grant(*transfer);
    }
  }
}

bool ReceiveHalf::peek(void* to, std::size_t bytes) const {
  const std::size_t index = entry_of(started_);
  // Acquire: pairs with the signal of the sender, as in advance().
  const std::uint64_t word =
      std::atomic_ref(mine().entry[index].word).load(std::memory_order_acquire);
  if (!is_in_window(started_) || !is_for(word, started_) ||
      kind_of(word) != Kind::kEager || size_of(word) < bytes) {
    return false;
  }
  std::memcpy(to,
              size_of(word) <= kInlineBytes ? mine().entry[index].bytes
                                            : mine().area[index],
              bytes);
  return true;
}

/// Copies the message to where the receive wants it, unless the sender has put
/// it there. A message that is too long is consumed without a copy.
void ReceiveHalf::deliver(Transfer& transfer, std::uint64_t word) {
  const std::uint64_t size = size_of(word);
  const auto bytes = static_cast<std::size_t>(size);
  const std::size_t index = entry_of(transfer.number);
  transfer.length = size;
  QMP_status_t status = QMP_SUCCESS;
  if (size > transfer.memory->size()) {
    status = QMP_BAD_MESSAGE;
  } else if (kind_of(word) == Kind::kUnsent) {
    status = QMP_ERROR;
  } else if (kind_of(word) == Kind::kDirect) {
    if (transfer.packed) {
      transfer.memory->scatter(transfer.packed.memory, bytes);
    }
  } else {
    transfer.memory->scatter(
        size <= kInlineBytes ? mine().entry[index].bytes : mine().area[index],
        bytes);
  }
  consume(transfer.number);
  finish(transfer, status);
}

/// Counts a message as consumed. Only the unbroken prefix is reported, so a
/// message ahead of it is kept in the mask (invariant 3 of docs/qmp.md).
void ReceiveHalf::consume(std::uint64_t number) {
  ahead_ |= 1U << (number - consumed_);
  while ((ahead_ & 1U) != 0) {
    ahead_ >>= 1;
    ++consumed_;
  }
}

bool ReceiveHalf::report() {
  if (!has_report() || !peer_.is_connected()) {
    return false;
  }
  if (posted(acpx_put_signal(ACP_GA_NULL, ACP_GA_NULL, 0,
                             peer_.address(offsetof(SenderHalf, consumed)),
                             consumed_ - reported_, ACP_HANDLE_NULL)) ==
      Posted::kLater) {
    return false;
  }
  reported_ = consumed_;
  return true;
}

/// Ends the receives whose message is never sent. Called after every message
/// that is here has been delivered, as invariant 13 of docs/qmp.md needs it.
bool ReceiveHalf::end_beyond_peer() {
  return std::erase_if(posted_, [this](Transfer* each) {
           if (!is_beyond_peer(each->number)) {
             return false;
           }
           finish_without_peer(*each);
           return true;
         }) != 0;
}

/// Delivers every message that has arrived, in any order, and posts the grants
/// that had no room before. The list is ordered by number, so the first
/// transfer outside of the window ends the pass.
bool ReceiveHalf::advance() {
  bool has_worked = false;
  for (std::size_t i = 0; i < posted_.size();) {
    Transfer& transfer = *posted_[i];
    if (!is_in_window(transfer.number)) {
      break;
    }
    // Acquire: pairs with the signal of the sender, which follows the bytes.
    const std::uint64_t word =
        std::atomic_ref(mine().entry[entry_of(transfer.number)].word)
            .load(std::memory_order_acquire);
    if (is_for(word, transfer.number)) {
      posted_.erase(posted_.begin() + static_cast<std::ptrdiff_t>(i));
      deliver(transfer, word);
      has_worked = true;
      continue;
    }
    if (!transfer.has_grant && transfer.memory->size() > kEagerBytes) {
      has_worked |= post_grant(transfer);
    }
    ++i;
  }
  has_worked |= !posted_.empty() && end_beyond_peer();
  has_worked |= report();
  return has_worked;
}

}  // namespace qmp
