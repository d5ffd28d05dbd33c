// The pieces of a message that both ends of a channel copy on one host. Called
// by Sender and Receiver, with the end's lock held. Nothing here waits: a
// refused copy is tried again.
#include "middle/channel/piece_copier.h"

#include <algorithm>
#include <atomic>

#include "base/touch.h"

namespace acp::middle::channel {

namespace {

constexpr int kNumberShift = 32;
constexpr std::uint64_t kPieceMask = (std::uint64_t{1} << kNumberShift) - 1;

}  // namespace

void PieceCopier::publish(SharedCopy& copy,
                          std::uint64_t number,
                          acp_ga_t to,
                          std::uint64_t size) {
  store(copy.to, to);
  store(copy.size, size);
  store(copy.error, 0);
  store(copy.copied, 0);
  store(copy.claim, number << kNumberShift | pieces_of(size));
}

bool PieceCopier::advance(SharedCopy& copy,
                          std::uint64_t number,
                          acp_ga_t from) {
  if (state_ == State::kNone && !claim(copy, number)) {
    return false;
  }
  if (state_ == State::kClaimed && !issue(copy, from)) {
    return false;
  }
  if (proven_ ? !proven_->is_over() : !is_complete(handle_)) {
    return false;
  }
  if (proven_ && proven_->has_failed()) {
    store(copy.error, ACPX_BAD_ADDRESS);
  }
  state_ = State::kNone;
  std::atomic_ref(copy.copied).fetch_add(1);
  return true;
}

/// Invariants 1 and 2: the decision uses the claimed word alone, and the size
/// is read only after the claim.
bool PieceCopier::claim(SharedCopy& copy, std::uint64_t number) {
  const std::atomic_ref claim(copy.claim);
  std::uint64_t seen = claim.load(std::memory_order_acquire);
  do {
    if (seen >> kNumberShift != (number & kPieceMask) ||
        (seen & kPieceMask) == 0) {
      return false;
    }
  } while (
      !claim.compare_exchange_weak(seen, seen - 1, std::memory_order_acquire));
  const std::uint64_t left = seen & kPieceMask;
  const std::uint64_t size = load(copy.size);
  offset_ = (pieces_of(size) - left) * piece_bytes(size);
  state_ = State::kClaimed;
  return true;
}

/// Issues the copy of the claimed piece. False: the window is full.
bool PieceCopier::issue(SharedCopy& copy, acp_ga_t from) {
  const std::uint64_t size = load(copy.size);
  const int reason = start(load(copy.to) + offset_, from + offset_,
                           std::min(size - offset_, piece_bytes(size)));
  if (reason == ACPX_AGAIN) {
    return false;
  }
  if (reason != 0) {
    store(copy.error, static_cast<std::uint64_t>(reason));
  }
  state_ = State::kIssued;
  return true;
}

/// Starts a copy as ProvenCopy::start() does. The sender's copy is not proven:
/// it fails in the call, or because of the sender's own memory, which is looked
/// at here. If the kernel refuses cross-memory copies, a message to the
/// receiver may fail later, but only when the receiver's program has unmapped
/// its own buffer.
int PieceCopier::start(acp_ga_t to, acp_ga_t from, std::uint64_t size) {
  if (proven_) {
    return proven_->start(to, from, size);
  }
  auto* const source = static_cast<std::byte*>(acp_query_address(from));
  if (!can_touch(source, size, Access::kRead)) {
    handle_ = ACP_HANDLE_NULL;
    return ACPX_BAD_ADDRESS;
  }
  const BusyScope busy;
  const int before = acp_errno;
  handle_ = acp_copy(to, from, size, ACP_HANDLE_NULL);
  const int reason = handle_ == ACP_HANDLE_NULL ? acp_errno : 0;
  acp_errno = before;
  return reason;
}

}  // namespace acp::middle::channel
