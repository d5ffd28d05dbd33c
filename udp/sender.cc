#include "udp/sender.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/assert.h"
#include "base/little_endian.h"

namespace acp::udp {

namespace {

/// A fragment is lost when one sent this many transmissions later arrived.
constexpr std::uint64_t kReorderTransmissions = 3;
/// Or when a later one arrived and it has not for this long.
constexpr Duration kMinReorderWindow = std::chrono::microseconds(200);
/// Both are doubled up to so many times on a path that reorders more.
constexpr std::uint8_t kMaxReorderLevel = 4;
constexpr std::uint8_t kMaxDoublings = 20;

}  // namespace

Sender::Sender(FragmentPool& pool, StreamLimits& limits)
    : pool_(pool),
      limits_(limits),
      base_(limits.first_seq),
      next_(limits.first_seq),
      recovery_end_(limits.first_seq) {}

Status Sender::open_fragment() {
  const bool is_full = next_ - base_ == kWindowFragments ||
                       (next_ != base_ && bytes_ >= limits_.window_bytes);
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

/// For a message of `bytes` in the open fragment.
Status Sender::make_room(std::size_t bytes) {
  if (open_ == nullptr) {
    return open_fragment();
  }
  const bool fits = open_->tail.empty() &&
                    open_->payload_bytes + kMessagePrefixBytes + bytes <=
                        limits_.fragment_bytes;
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
                               transport::Ordering ordering) {
  ACP_ASSERT(!parts.back().empty());
  const Status status = make_room(bytes);
  if (status == Status::kOk) {
    add(parts.first(parts.size() - 1), bytes, ordering);
    open_->tail = parts.back();
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
  if (!fragment.tail.empty()) {
    std::memcpy(fragment.payload + fragment.payload_bytes, fragment.tail.data(),
                fragment.tail.size());
    fragment.payload_bytes = fragment.size();
    fragment.tail = {};
    --in_place_;
  }
}

template <typename Predicate>
void Sender::copy_tails_if(Predicate is_meant) noexcept {
  for (std::uint64_t seq = base_; in_place_ != 0 && seq != next_; ++seq) {
    Fragment* fragment = (*ring_)[seq];
    if (fragment != nullptr && is_meant(fragment->tail)) {
      copy_tail(*fragment);
    }
  }
}

void Sender::reclaim(std::span<const std::byte> memory) noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
  copy_tails_if([begin, size = memory.size()](std::span<const std::byte> tail) {
    return reinterpret_cast<std::uintptr_t>(tail.data()) - begin < size;
  });
}

void Sender::reclaim_all() noexcept {
  copy_tails_if([](std::span<const std::byte>) { return true; });
}

/// A message of `bytes` bytes that begins with `parts`.
void Sender::add(Parts parts, std::size_t bytes, transport::Ordering ordering) {
  std::byte* at = open_->payload + open_->payload_bytes;
  store_little(at, static_cast<std::uint16_t>(bytes));
  at += kMessagePrefixBytes;
  for (const std::span<const std::byte> part : parts) {
    if (!part.empty()) {
      std::memcpy(at, part.data(), part.size());
      at += part.size();
    }
  }
  open_->payload_bytes = static_cast<std::size_t>(at - open_->payload);
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
  // In most cases the only one is the newest.
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

std::uint8_t Sender::flags_for(const Fragment& fragment) noexcept {
  std::uint8_t flags = fragment.is_ordered ? kFlagOrdered : 0;
  // Four requests a window copy_tail it moving with the fewest acks (many small
  // fragments are acknowledged by their number, see kAckEvery); an empty
  // window needs none; who sends again wants to know at once, and so does who
  // asks only whether the peer lives.
  const bool is_alone = fragment.seq == base_;
  unasked_bytes_ = is_alone ? 0 : unasked_bytes_;
  unasked_bytes_ += charge(fragment.size());
  const bool is_quarter = unasked_bytes_ >= limits_.window_bytes / 4;
  const bool is_probe = fragment.size() == 0;
  if ((is_quarter && !is_alone) || fragment.transmissions > 0 || is_probe) {
    unasked_bytes_ = 0;
    flags |= kFlagAckRequest;
  }
  return flags;
}

void Sender::on_transmitted(Fragment& fragment,
                            std::uint64_t txno,
                            TimePoint now) {
  ACP_ASSERT(fragment.state == Fragment::State::kPending);
  if (fragment.seq == base_ && fragment.transmissions == 0) {
    // Nothing was unacknowledged: the clocks start here.
    timer_start_ = now;
    heard_at_ = now;
    timeouts_ = 0;
  }
  --pending_;
  fragment.state = Fragment::State::kInFlight;
  fragment.add_transmission({txno, ++last_ordinal_, now});
  if (fragment.transmissions > 1) {
    recovery_end_ = next_;
  }
}

std::size_t Sender::on_ack(const PacketView& packet, TimePoint now) {
  const auto ack = extend(base_, packet.header.ack);
  if (!ack || *ack < base_ || *ack > closed_end()) {
    return 0;  // reordered, or of another stream's life
  }
  spurious_ = 0;
  bool has_progress = false;
  for (; base_ != *ack; ++base_) {
    has_progress |= acknowledge(base_, packet, now);
  }
  if ((packet.header.flags & kFlagSack) != 0) {
    has_progress |= acknowledge_bitmap(*ack, packet, now);
    recovery_end_ = next_;
  }
  if (has_progress) {
    timeouts_ = 0;
    timer_start_ = now;
  }
  if (base_ < recovery_end_) {
    detect_losses(now);
  } else {
    loss_deadline_ = TimePoint::max();
  }
  if (base_ == next_ && ring_ != nullptr) {
    pool_.release_ring(std::exchange(ring_, nullptr));
  }
  return spurious_;
}

bool Sender::acknowledge_bitmap(std::uint64_t ack,
                                const PacketView& packet,
                                TimePoint now) {
  bool has_progress = false;
  for (std::size_t word = 0; word < packet.sack.size(); ++word) {
    for (std::uint64_t bits = packet.sack[word]; bits != 0; bits &= bits - 1) {
      const std::uint64_t seq =
          ack + 64 * word + static_cast<std::uint64_t>(std::countr_zero(bits));
      // Never the oldest: it stays to ask with until `ack` has passed it.
      if (seq != ack && seq < closed_end()) {
        has_progress |= acknowledge(seq, packet, now);
      }
    }
  }
  return has_progress;
}

bool Sender::acknowledge(std::uint64_t seq,
                         const PacketView& packet,
                         TimePoint now) {
  Fragment* fragment = std::exchange((*ring_)[seq], nullptr);
  if (fragment == nullptr) {
    return false;
  }
  if (const Transmission* arrived =
          fragment->find_transmission(packet.header.echo)) {
    // What the peer held it beyond the delay of acks is time that it had no
    // core for: the next answer may take as long (RFC 9002, section 5.3).
    const Duration held = std::min<Duration>(
        std::chrono::microseconds(packet.header.held_us), kAckDelay);
    on_echo(*fragment, *arrived, now - arrived->sent - held);
  } else if (fragment->transmissions == 1) {
    newest_arrived_ = std::max(newest_arrived_, fragment->last.ordinal);
  }
  if (fragment->state == Fragment::State::kPending) {
    --pending_;
  }
  bytes_ -= charge(fragment->size());
  in_place_ -= fragment->tail.empty() ? 0 : 1;
  pool_.release(fragment);
  return true;
}

/// The ack of `fragment` names the transmission that it answers. If that is
/// not the last one, the fragment was sent again for nothing (Eifel, RFC 3522,
/// exact here because no two transmissions have one number): whatever was
/// concluded from the supposed loss is taken back.
void Sender::on_echo(const Fragment& fragment,
                     const Transmission& arrived,
                     Duration sample) {
  newest_arrived_ = std::max(newest_arrived_, arrived.ordinal);
  rtt_.add_sample(sample);
  limits_.longest_rtt.add_sample(sample);
  backoff_ = 0;
  const bool is_spurious = arrived.txno != fragment.last.txno;
  if (is_spurious) {
    ++spurious_;
  }
  if (is_spurious && fragment.was_overtaken) {
    reorder_level_ =
        std::min<std::uint8_t>(reorder_level_ + 1, kMaxReorderLevel);
  } else if (is_spurious) {
    rtt_.widen(sample);
  } else if (fragment.was_overtaken && reorder_level_ > 0) {
    --reorder_level_;  // that one was lost indeed
  }
}

void Sender::detect_losses(TimePoint now) {
  loss_deadline_ = TimePoint::max();
  const Duration window = reorder_window();
  for (std::uint64_t seq = base_; seq != closed_end(); ++seq) {
    Fragment* fragment = (*ring_)[seq];
    if (fragment == nullptr || fragment->last.ordinal >= newest_arrived_ ||
        fragment->state != Fragment::State::kInFlight) {
      continue;
    }
    const Transmission& last = fragment->last;
    if (last.ordinal + (kReorderTransmissions << reorder_level_) <=
            newest_arrived_ ||
        last.sent + window <= now) {
      fragment->was_overtaken = true;
      make_pending(*fragment);
    } else {
      loss_deadline_ = std::min(loss_deadline_, last.sent + window);
    }
  }
}

Duration Sender::reorder_window() const noexcept {
  const Duration window =
      std::max(rtt_.smoothed() + rtt_.smoothed() / 8, kMinReorderWindow);
  return window * (std::int64_t{1} << reorder_level_);
}

/// The first time-out of a path that is known is a tail probe: sooner, and it
/// does not double.
bool Sender::is_probe_next() const noexcept {
  return timeouts_ == 0 && backoff_ == 0 && rtt_.has_sample();
}

Duration Sender::rto() const noexcept {
  const Duration first = first_rto(limits_);
  if (!rtt_.has_sample()) {
    return first;
  }
  const Duration own = rtt_.rto(limits_.rto_floor);
  return limits_.is_core_bound ? std::max(own, first) : own;
}

Duration Sender::timeout() const noexcept {
  const Duration rto = this->rto();
  if (!is_probe_next()) {
    return backed_off(rto, backoff_);
  }
  const Duration least = limits_.is_core_bound
                             ? limits_.longest_rtt.rto(limits_.rto_floor / 4)
                             : limits_.rto_floor / 4;
  return std::clamp(2 * rtt_.smoothed() + kAckDelay, least, rto);
}

TimePoint Sender::deadline() const noexcept {
  if (!has_unacknowledged()) {
    return TimePoint::max();
  }
  TimePoint deadline = std::min(loss_deadline_, timer_start_ + timeout());
  if (timeouts_ >= kDeathTimeouts && limits_.silence.count() > 0) {
    deadline = std::min(deadline, heard_at_ + limits_.silence);
  }
  return deadline;
}

void Sender::on_timer(TimePoint now) {
  if (!has_unacknowledged()) {
    return;
  }
  if (loss_deadline_ <= now) {
    detect_losses(now);
  }
  if (now < timer_start_ + timeout()) {
    return;
  }
  // The first asks about the newest, whose ack tells about all before it; the
  // others send the oldest, which may be what holds up the peer.
  const bool is_first = timeouts_ == 0;
  if (!is_probe_next() && backoff_ < kMaxDoublings) {
    ++backoff_;
  }
  timer_start_ = now;
  ++timeouts_;
  for (std::uint64_t i = 0; i < closed_end() - base_; ++i) {
    Fragment* fragment = (*ring_)[is_first ? closed_end() - 1 - i : base_ + i];
    if (fragment != nullptr && fragment->state == Fragment::State::kInFlight) {
      fragment->was_overtaken = false;
      make_pending(*fragment);
      return;
    }
  }
}

bool Sender::is_peer_dead(TimePoint now) const noexcept {
  return has_unacknowledged() && timeouts_ >= kDeathTimeouts &&
         limits_.silence.count() > 0 && now >= heard_at_ + limits_.silence;
}

Duration Sender::silence(TimePoint now) const noexcept {
  return now - heard_at_;
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
