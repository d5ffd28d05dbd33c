// The part of Sender that learns from acks and time-outs: what has arrived,
// what is lost, and when to ask again.
#include <algorithm>
#include <bit>
#include <utility>

#include "udp/sender.h"

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

}  // namespace acp::udp
