#include "middle/channel/piece_copier.h"

#include <algorithm>
#include <atomic>

namespace acp::middle::channel {

namespace {

constexpr int kNumberShift = 32;
constexpr std::uint64_t kPieceMask = (std::uint64_t{1} << kNumberShift) - 1;

constexpr std::uint64_t first_claim(std::uint64_t number) {
  return number << kNumberShift;
}

}  // namespace

void PieceCopier::publish(SharedCopy& copy,
                          std::uint64_t number,
                          acp_ga_t to,
                          std::uint64_t size) {
  copy.to = to;
  copy.size = size;
  copy.error = 0;
  copy.copied = 0;
  store(copy.claim, first_claim(number));
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

/// The number in the word keeps a late look at an earlier message from taking
/// a piece of this one.
bool PieceCopier::claim(SharedCopy& copy, std::uint64_t number) {
  const std::atomic_ref claim(copy.claim);
  std::uint64_t next = claim.load(std::memory_order_acquire);
  do {
    if (next >> kNumberShift != (number & kPieceMask) ||
        (next & kPieceMask) >= pieces_of(copy.size)) {
      return false;
    }
  } while (
      !claim.compare_exchange_weak(next, next + 1, std::memory_order_acquire));
  offset_ = (next & kPieceMask) * piece_bytes(copy.size);
  state_ = State::kClaimed;
  return true;
}

/// False: not now.
bool PieceCopier::issue(SharedCopy& copy, acp_ga_t from) {
  const int before = acp_errno;
  {
    const BusyScope busy;
    handle_ = acp_copy(copy.to + offset_, from + offset_,
                       std::min(copy.size - offset_, piece_bytes(copy.size)),
                       ACP_HANDLE_NULL);
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
