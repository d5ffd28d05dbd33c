// Deduplication, order and acks of a stream. Called by Endpoint; never calls
// the sink or the socket. receiver.h has the invariants.
#include "udp/receiver.h"

#include <algorithm>
#include <bit>

#include "base/assert.h"

namespace acp::udp {

Receiver::Receiver(FragmentPool& pool, const StreamLimits& limits)
    : pool_(pool), limits_(limits), base_(limits.first_seq) {}

Receiver::Verdict Receiver::judge(const PacketHeader& header) const noexcept {
  const auto seq = extend(base_, header.seq);
  if (!seq || *seq < base_) {
    return Verdict::kDuplicate;
  }
  const std::uint64_t offset = *seq - base_;
  if (offset >= kWindowFragments) {
    return Verdict::kDrop;
  }
  if (has_bit(offset)) {
    return Verdict::kDuplicate;
  }
  if (offset == 0 || (header.flags & kFlagOrdered) == 0) {
    return Verdict::kDeliver;
  }
  return held_count_ < limits_.max_held_fragments ? Verdict::kEarly
                                                  : Verdict::kDrop;
}

/// Decides whether the ack goes at once: on a request, after kAckEvery
/// fragments, and whenever the arrival was not simply the next in order.
void Receiver::on_arrival(const PacketHeader& header,
                          Verdict verdict,
                          TimePoint now,
                          TimePoint arrived) noexcept {
  if (verdict == Verdict::kDrop) {
    return;  // counts as not received, so it must not be echoed
  }
  // When this process had no core, several transmissions of a fragment may wait
  // in the socket. The ack names the first that was taken: from the later ones
  // the sender would measure too short a round trip.
  if (verdict != Verdict::kDuplicate || !owes_ack()) {
    echo_ = header.txno;
    echo_time_ = arrived;
  }
  ++unacked_;
  const bool is_in_order = verdict == Verdict::kDeliver &&
                           header.seq == static_cast<std::uint32_t>(base_) &&
                           !has_gap();
  // A duplicate or a gap means that the sender waits for this ack to recover.
  ack_now_ |= !is_in_order || (header.flags & kFlagAckRequest) != 0 ||
              unacked_ >= kAckEvery;
  if (ack_deadline_ == TimePoint::max()) {
    ack_deadline_ = now + kAckDelay;
  }
}

void Receiver::mark_delivered(const PacketHeader& header) noexcept {
  const std::uint64_t offset = static_cast<std::uint32_t>(
      header.seq - static_cast<std::uint32_t>(base_));
  ACP_ASSERT(offset < kWindowFragments);
  if (offset == 0 && !has_gap()) {
    ++base_;
    return;
  }
  set_bit(offset);
  advance();
}

void Receiver::keep_early(const PacketHeader& header,
                          Fragment* fragment) noexcept {
  const std::uint64_t offset = static_cast<std::uint32_t>(
      header.seq - static_cast<std::uint32_t>(base_));
  ACP_ASSERT(offset < kWindowFragments &&
             held_count_ < limits_.max_held_fragments);
  set_bit(offset);
  fragment->seq = base_ + offset;
  Fragment** at = &held_;
  while (*at != nullptr && (*at)->seq < fragment->seq) {
    at = &(*at)->next;
  }
  fragment->next = *at;
  *at = fragment;
  ++held_count_;
}

Fragment* Receiver::ready() const noexcept {
  return held_ != nullptr && held_->seq == base_ ? held_ : nullptr;
}

void Receiver::finish_held() noexcept {
  Fragment* fragment = ready();
  ACP_ASSERT(fragment != nullptr);
  held_ = fragment->next;
  --held_count_;
  pool_.release(fragment);
  advance();
  ack_now_ = true;  // an ack sent during its delivery did not name it
}

bool Receiver::has_gap() const noexcept {
  return (received_[0] | received_[1] | received_[2] | received_[3]) != 0;
}

/// Moves base_ over delivered fragments, up to the next gap or held fragment. A
/// held fragment has to be handed over before base_ may pass it.
void Receiver::advance() noexcept {
  while (has_bit(0) && ready() == nullptr) {
    auto count = static_cast<std::uint64_t>(std::countr_one(received_[0]));
    if (held_ != nullptr) {
      count = std::min(count, held_->seq - base_);
    }
    count = std::min<std::uint64_t>(count, 63);
    shift(static_cast<unsigned>(count));
    base_ += count;
  }
}

void Receiver::shift(unsigned count) noexcept {
  for (std::size_t i = 0; i < received_.size(); ++i) {
    const std::uint64_t above = i + 1 < received_.size() ? received_[i + 1] : 0;
    received_[i] = received_[i] >> count | above << (64 - count);
  }
}

void Receiver::fill(PacketHeader& header,
                    SackBitmap& sack,
                    TimePoint now) const noexcept {
  header.ack = static_cast<std::uint32_t>(base_);
  header.echo = echo_;
  const auto held =
      std::chrono::duration_cast<std::chrono::microseconds>(now - echo_time_)
          .count();
  header.held_us =
      static_cast<std::uint16_t>(std::clamp<std::int64_t>(held, 0, UINT16_MAX));
  if (has_gap()) {
    header.flags |= kFlagSack;
    sack = received_;
    sack[0] &= ~std::uint64_t{1};  // held, and not delivered yet
  }
}

void Receiver::on_ack_sent() noexcept {
  unacked_ = 0;
  ack_now_ = false;
  ack_deadline_ = TimePoint::max();
}

void Receiver::abandon() noexcept {
  while (held_ != nullptr) {
    Fragment* next = held_->next;
    pool_.release(held_);
    held_ = next;
  }
  held_count_ = 0;
  on_ack_sent();
}

}  // namespace acp::udp
