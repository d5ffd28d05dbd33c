// The part of Sender that packs messages into fragments and hands them out for
// sending. Called by Endpoint; sends nothing itself. sender.h has the
// invariants.
#include "udp/sender.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/assert.h"
#include "base/little_endian.h"
#include "base/touch.h"

namespace acp::udp {

namespace {

/// memcpy, but without a call for the few bytes of most parts. Two copies of
/// one size, which may overlap, cover every size up to twice that.
void copy_part(std::byte* to, std::span<const std::byte> part) noexcept {
  const std::byte* from = part.data();
  const std::size_t size = part.size();
  const auto copy_twice =
      [&]<std::size_t kBytes>(std::array<std::byte, kBytes> first) {
        auto last = first;
        std::memcpy(first.data(), from, kBytes);
        std::memcpy(last.data(), from + size - kBytes, kBytes);
        std::memcpy(to, first.data(), kBytes);
        std::memcpy(to + size - kBytes, last.data(), kBytes);
      };
  if (size > 64 || size < 8) {
    if (size != 0) {
      std::memcpy(to, from, size);
    }
  } else if (size > 32) {
    copy_twice(std::array<std::byte, 32>());
  } else if (size > 16) {
    copy_twice(std::array<std::byte, 16>());
  } else {
    copy_twice(std::array<std::byte, 8>());
  }
}

bool is_mapped(std::span<const std::byte> tail) noexcept {
  return can_touch(const_cast<std::byte*>(tail.data()), tail.size(),
                   Access::kRead);
}

/// Copies a tail. False: the program has unmapped it. The memory of a put is
/// the operation's until it ends, and a program that unmaps it too early is
/// wrong. So a touch of its pages and a fast copy are enough there.
bool copy_if_there(std::byte* to, const Fragment& fragment) noexcept {
  const std::span<const std::byte> tail = fragment.tail;
  if (fragment.tail_may_go) {
    return copy_if_mapped(to, tail.data(), tail.size());
  }
  if (!is_mapped(tail)) {
    return false;
  }
  std::memcpy(to, tail.data(), tail.size());
  return true;
}

}  // namespace

Sender::Sender(FragmentPool& pool, StreamLimits& limits, Window window)
    : pool_(pool),
      limits_(limits),
      base_(limits.first_seq),
      next_(limits.first_seq),
      recovery_end_(limits.first_seq),
      window_kind_(window),
      packed_bytes_(static_cast<std::uint16_t>(limits.fragment_bytes)),
      grant_(static_cast<std::uint32_t>(limits.first_grant)) {}

std::uint64_t Sender::window() const noexcept {
  const std::uint64_t most =
      std::min<std::uint64_t>(limits_.window_bytes, grant_);
  return window_kind_ == Window::kFixed ? most
                                        : std::min(most, congestion_.bytes());
}

/// A first fragment is always allowed by the byte limit, however large it is.
Status Sender::open_fragment() {
  const bool is_full = next_ - base_ == kWindowFragments ||
                       (next_ != base_ && bytes_ >= window());
  if (is_full) {
    return Status::kAgain;
  }
  if (ring_ == nullptr && (ring_ = pool_.acquire_ring()) == nullptr) {
    return Status::kAgain;
  }
  Fragment* fragment = pool_.acquire();
  if (fragment == nullptr) {
    return Status::kAgain;
  }
  fragment->seq = next_++;
  (*ring_)[fragment->seq] = fragment;
  open_ = fragment;
  return Status::kOk;
}

/// Provides an open fragment with room for a message of `bytes` bytes. An empty
/// one has room for any.
Status Sender::make_room(std::size_t bytes) {
  if (open_ == nullptr) {
    return open_fragment();
  }
  const bool fits =
      open_->tail.empty() &&
      open_->payload_bytes + kMessagePrefixBytes + bytes <= packed_bytes_;
  return fits ? Status::kOk : Status::kAgain;
}

Status Sender::append(Parts parts,
                      std::size_t bytes,
                      transport::Ordering ordering) {
  const Status status = make_room(bytes);
  if (status == Status::kOk) {
    add(parts, bytes, ordering);
  }
  return status;
}

Status Sender::append_in_place(Parts parts,
                               std::size_t bytes,
                               transport::Ordering ordering,
                               bool may_go) {
  ACP_ASSERT(!parts.back().empty());
  const Status status = make_room(bytes);
  if (status == Status::kOk) {
    open_->tail_message = static_cast<std::uint32_t>(open_->payload_bytes);
    add(parts.first(parts.size() - 1), bytes, ordering);
    open_->tail = parts.back();
    open_->tail_may_go = may_go;
    ++in_place_;
  }
  return status;
}

bool Sender::append_probe() {
  if (next_ != base_ || open_fragment() != Status::kOk) {
    return false;
  }
  close();
  return true;
}

void Sender::copy_tail(Fragment& fragment) noexcept {
  if (fragment.tail.empty()) {
    return;
  }
  const std::size_t size = fragment.tail.size();
  if (!copy_if_there(fragment.payload + fragment.payload_bytes, fragment)) {
    drop_tail(fragment);
    return;
  }
  fragment.tail = {};
  fragment.payload_bytes += size;
  --in_place_;
}

/// Ends the message where its tail would begin.
void Sender::drop_tail(Fragment& fragment) noexcept {
  bytes_ -= &fragment == open_ ? 0 : fragment.tail.size();
  fragment.tail = {};
  --in_place_;
  std::byte* prefix = fragment.payload + fragment.tail_message;
  const std::byte* end = fragment.payload + fragment.payload_bytes;
  store_little(prefix,
               static_cast<std::uint16_t>(end - prefix - kMessagePrefixBytes));
}

void Sender::drop_lost_tail(Fragment& fragment) noexcept {
  if (!fragment.tail.empty() && !fragment.tail_may_go &&
      !is_mapped(fragment.tail)) {
    drop_tail(fragment);
  }
}

template <typename Predicate>
void Sender::copy_tails_if(Predicate is_meant) noexcept {
  for (std::uint64_t seq = base_; in_place_ != 0 && seq != next_; ++seq) {
    Fragment* fragment = (*ring_)[seq];
    if (fragment != nullptr && is_meant(*fragment)) {
      copy_tail(*fragment);
    }
  }
}

void Sender::reclaim(std::span<const std::byte> memory) noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
  copy_tails_if([begin, size = memory.size()](const Fragment& fragment) {
    return reinterpret_cast<std::uintptr_t>(fragment.tail.data()) - begin <
           size;
  });
}

void Sender::reclaim_unsent() noexcept {
  copy_tails_if([](const Fragment& fragment) {
    return fragment.tail_may_go && fragment.transmissions == 0;
  });
}

void Sender::reclaim_all() noexcept {
  copy_tails_if([](const Fragment&) { return true; });
}

/// Appends the size prefix `bytes` and copies `parts`. In append_in_place the
/// parts are fewer bytes than the prefix says; the tail follows.
void Sender::add(Parts parts, std::size_t bytes, transport::Ordering ordering) {
  std::byte* at = open_->payload + open_->payload_bytes;
  store_little(at, static_cast<std::uint16_t>(bytes));
  at += kMessagePrefixBytes;
  for (const std::span<const std::byte> part : parts) {
    copy_part(at, part);
    at += part.size();
  }
  open_->payload_bytes = static_cast<std::size_t>(at - open_->payload);
  ++open_->messages;
  open_->is_ordered |= ordering == transport::Ordering::kOrdered;
}

void Sender::close() {
  if (open_ != nullptr) {
    bytes_ += charge(open_->size());
    make_pending(*std::exchange(open_, nullptr));
  }
}

void Sender::make_pending(Fragment& fragment) noexcept {
  fragment.state = Fragment::State::kPending;
  ++pending_;
}

Fragment& Sender::next_pending() noexcept {
  ACP_ASSERT(pending_ > 0);
  // Usually only the newest fragment is pending: no search.
  Fragment* newest = (*ring_)[closed_end() - 1];
  if (pending_ == 1 && newest != nullptr &&
      newest->state == Fragment::State::kPending) {
    return *newest;
  }
  std::uint64_t seq = base_;
  while ((*ring_)[seq] == nullptr ||
         (*ring_)[seq]->state != Fragment::State::kPending) {
    ++seq;
  }
  return *(*ring_)[seq];
}

/// A train leaves in one system call, in which the kernel divides it into
/// datagrams of one size. Only the last may be smaller. The pace bounds the
/// bytes that leave at once.
std::size_t Sender::next_train(std::span<Fragment*> train,
                               TimePoint now) noexcept {
  Fragment& first = next_pending();
  train[0] = &first;
  std::uint64_t left = is_paced() ? congestion_.burst(now) : UINT64_MAX;
  std::size_t count = 1;
  while (count < train.size() && train[count - 1]->size() == first.size() &&
         first.transmissions == 0) {
    const std::uint64_t bytes = charge(first.size());
    const std::uint64_t seq = first.seq + count;
    Fragment* next = seq < closed_end() ? (*ring_)[seq] : nullptr;
    if (left < bytes || next == nullptr ||
        next->state != Fragment::State::kPending || next->transmissions != 0 ||
        next->size() > first.size()) {
      break;
    }
    left -= bytes;
    train[count++] = next;
  }
  return count;
}

/// Asks for an immediate ack as rarely as the flow of acks allows.
std::uint8_t Sender::flags_for(const Fragment& fragment) noexcept {
  std::uint8_t flags = fragment.is_ordered ? kFlagOrdered : 0;
  // Four requests per window keep it moving with the fewest acks; many small
  // fragments are acknowledged by their number, see kAckEvery. A fragment that
  // is alone needs no request, unless it fills the window, or is a
  // retransmission or a probe. A fragment behind less than a quarter of the
  // window needs none either, because most of the window is free.
  const bool is_alone = fragment.seq == base_;
  unasked_bytes_ = is_alone ? 0 : unasked_bytes_;
  unasked_bytes_ += charge(fragment.size());
  const std::uint64_t quarter = window() / 4;
  const bool is_quarter = unasked_bytes_ >= quarter && bytes_ >= quarter;
  const bool is_full = bytes_ >= window();
  const bool is_probe = fragment.size() == 0;
  if ((is_quarter && !is_alone) || is_full || fragment.transmissions > 0 ||
      is_probe) {
    unasked_bytes_ = 0;
    flags |= kFlagAckRequest;
  }
  return flags;
}

/// Times and time-outs begin anew before the fragment counts as under way, if
/// nothing was unacknowledged. The pace is charged for retransmissions as well.
void Sender::on_transmitted(Fragment& fragment,
                            std::uint64_t txno,
                            TimePoint now) {
  ACP_ASSERT(fragment.state == Fragment::State::kPending);
  if (fragment.seq == base_ && fragment.transmissions == 0) {
    // Nothing was unacknowledged before, so time-outs count from now.
    if (has_grant_ && now - heard_at_ > kGrantAge) {
      grant_ = std::min(grant_, kIdleGrant);
    }
    timer_start_ = now;
    heard_at_ = now;
    timeouts_ = 0;
  }
  --pending_;
  if (is_paced()) {
    congestion_.on_sent(charge(fragment.size()), now);
  }
  fragment.state = Fragment::State::kInFlight;
  fragment.add_transmission({txno, ++last_ordinal_, now});
  if (fragment.transmissions > 1) {
    recovery_end_ = next_;
  }
}

void Sender::abandon() noexcept {
  if (ring_ == nullptr) {
    return;
  }
  for (Fragment*& fragment : ring_->fragments) {
    if (fragment != nullptr) {
      pool_.release(std::exchange(fragment, nullptr));
    }
  }
  pool_.release_ring(std::exchange(ring_, nullptr));
  open_ = nullptr;
  base_ = next_;
  pending_ = 0;
  in_place_ = 0;
  bytes_ = 0;
}

}  // namespace acp::udp
