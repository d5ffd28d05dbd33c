// The pieces of a message that both ends of a channel copy on one host. Called
// by Sender and Receiver, with the end's lock held. Nothing here waits: a
// refused copy is tried again.
#include "middle/channel/piece_copier.h"

#include <algorithm>
#include <atomic>

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
  if (!is_complete(handle_)) {
    return false;
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
  const int before = acp_errno;
  {
    const BusyScope busy;
    handle_ =
        acp_copy(load(copy.to) + offset_, from + offset_,
                 std::min(size - offset_, piece_bytes(size)), ACP_HANDLE_NULL);
  }
  if (handle_ == ACP_HANDLE_NULL) {
    const int reason = acp_errno;
    acp_errno = before;
    if (reason == ACPX_AGAIN) {
      return false;
    }
    store(copy.error, static_cast<std::uint64_t>(reason));
  }
  state_ = State::kIssued;
  return true;
}

}  // namespace acp::middle::channel
