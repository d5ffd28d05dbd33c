// The part of Sender that takes acks and time-outs: which fragments arrived,
// which are lost, and when to ask again. Called by Endpoint; sends nothing
// itself. docs/udp.md, "Loss".
#include <algorithm>
#include <bit>
#include <utility>

#include "udp/sender.h"

namespace acp::udp {

namespace {

/// A fragment counts as lost when a transmission that was sent this many later
/// has arrived.
constexpr std::uint64_t kReorderTransmissions = 3;
/// It also counts as lost when a later transmission has arrived and enough time
/// has passed since it was sent. That is this time, or 9/8 of the round trip if
/// that is longer.
constexpr Duration kMinReorderWindow = std::chrono::microseconds(200);
/// Both limits are doubled, up to this many times, on a path that reorders.
constexpr std::uint8_t kMaxReorderLevel = 4;
constexpr std::uint8_t kMaxDoublings = 20;

}  // namespace

/// Order: cumulative ack, then bitmap, then losses. The losses are judged with
/// everything that this packet has told.
std::size_t Sender::on_ack(const PacketView& packet, TimePoint now) {
  const auto ack = extend(base_, packet.header.ack);
  if (!ack || *ack < base_ || *ack > closed_end()) {
    return 0;  // an older ack that was overtaken, or an impossible one
  }
  needless_ = 0;
  if (packet.header.grant != 0) {
    grant_ = std::uint32_t{packet.header.grant} * 1024;
    has_grant_ = true;
  }
  const std::uint64_t in_flight = bytes_;
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
    if (is_paced()) {
      congestion_.on_ack(in_flight - bytes_, in_flight,
                         std::min<std::uint64_t>(limits_.window_bytes, grant_));
    }
  }
  if (base_ < recovery_end_) {
    detect_losses(now);
  } else {
    loss_deadline_ = TimePoint::max();
  }
  if (base_ == next_ && ring_ != nullptr) {
    pool_.release_ring(std::exchange(ring_, nullptr));
  }
  return needless_;
}

bool Sender::acknowledge_bitmap(std::uint64_t ack,
                                const PacketView& packet,
                                TimePoint now) {
  bool has_progress = false;
  for (std::size_t word = 0; word < packet.sack.size(); ++word) {
    for (std::uint64_t bits = packet.sack[word]; bits != 0; bits &= bits - 1) {
      const std::uint64_t seq =
          ack + 64 * word + static_cast<std::uint64_t>(std::countr_zero(bits));
      // By invariant 2 fragment `ack` stays until the cumulative ack passes it.
      if (seq != ack && seq < closed_end()) {
        has_progress |= acknowledge(seq, packet, now);
      }
    }
  }
  return has_progress;
}

/// Releases a fragment. The echo of the packet gives a sample if it names one
/// of the fragment's transmissions. Otherwise a fragment that was sent once is
/// known to have arrived as that transmission. False: it was released before.
bool Sender::acknowledge(std::uint64_t seq,
                         const PacketView& packet,
                         TimePoint now) {
  Fragment* fragment = std::exchange((*ring_)[seq], nullptr);
  if (fragment == nullptr) {
    return false;
  }
  if (const Transmission* arrived =
          fragment->find_transmission(packet.header.echo)) {
    // From the round trip for time-outs only the intended ack delay is
    // subtracted. A longer delay means that the peer had no core, and its next
    // answer may take as long (RFC 9002, 5.3). The congestion window looks at
    // the network alone: without the time that packets waited in both hosts.
    const Duration held = std::chrono::microseconds(packet.header.held_us);
    const Duration taken = now - arrived->sent;
    on_echo(*fragment, *arrived, taken - std::min<Duration>(held, kAckDelay));
    if (is_paced() && packet.header.held_us != UINT16_MAX) {
      congestion_.on_sample(taken - held - packet.waited, now);
    }
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

/// The ack of `fragment` names the transmission that arrived. If that is not
/// the last one, the retransmission was needless (as Eifel, RFC 3522; exact
/// here, because each transmission has its own number). Then the conclusion
/// from the supposed loss is corrected: a longer reorder limit, or a longer
/// RTO.
void Sender::on_echo(const Fragment& fragment,
                     const Transmission& arrived,
                     Duration sample) {
  newest_arrived_ = std::max(newest_arrived_, arrived.ordinal);
  rtt_.add_sample(sample);
  limits_.longest_rtt.add_sample(sample);
  backoff_ = 0;
  const bool is_needless = arrived.txno != fragment.last.txno;
  if (is_needless) {
    ++needless_;
  }
  if (is_needless && fragment.was_overtaken) {
    reorder_level_ =
        std::min<std::uint8_t>(reorder_level_ + 1, kMaxReorderLevel);
  } else if (is_needless) {
    rtt_.widen(sample);
  } else if (fragment.was_overtaken && reorder_level_ > 0) {
    --reorder_level_;  // the loss was real
  }
}

/// Makes fragments pending that later transmissions have overtaken by too much,
/// and sets loss_deadline_ for those that are overtaken by less.
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
      if (is_paced()) {
        congestion_.on_loss(charge(fragment->size()), now);
      }
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

/// Whether the next time-out is a tail probe. On a path with samples the first
/// time-out comes sooner than the RTO, and does not double it.
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
  if (is_paced() && pending_ != 0) {
    deadline = std::min(deadline, congestion_.next_send());
  }
  if (timeouts_ >= kDeathTimeouts && limits_.silence.count() > 0) {
    deadline = std::min(deadline, heard_at_ + limits_.silence);
  }
  return deadline;
}

/// Losses by order first, then at most one fragment per time-out: its ack shows
/// what else is lost.
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
  // The first time-out sends the newest fragment, whose ack tells about all
  // before it. Later ones send the oldest, which may be what the peer lacks.
  const bool is_first = timeouts_ == 0;
  if (!is_probe_next() && backoff_ < kMaxDoublings) {
    ++backoff_;
  }
  timer_start_ = now;
  ++timeouts_;
  if (is_paced()) {
    congestion_.on_timeout(timeouts_);
  }
  for (std::uint64_t i = 0; i < closed_end() - base_; ++i) {
    Fragment* fragment = (*ring_)[is_first ? closed_end() - 1 - i : base_ + i];
    if (fragment != nullptr && fragment->state == Fragment::State::kInFlight) {
      fragment->was_overtaken = false;
      make_pending(*fragment);
      return;
    }
  }
  if (pending_ == 0) {
    probe_ack();
  }
}

/// Puts an ack probe, a fragment without messages, at base_. Called when SACKs
/// have released all closed fragments and the cumulative ack has not come. The
/// peer sent its last ack while it handed over base_, which it had held. To the
/// peer the ack probe is a duplicate of base_, so it is acknowledged at once.
void Sender::probe_ack() noexcept {
  Fragment* probe = pool_.acquire();
  if (probe == nullptr) {
    return;  // the next time-out tries again
  }
  probe->seq = base_;
  (*ring_)[base_] = probe;
  bytes_ += charge(0);
  make_pending(*probe);
}

bool Sender::is_peer_dead(TimePoint now) const noexcept {
  return has_unacknowledged() && timeouts_ >= kDeathTimeouts &&
         limits_.silence.count() > 0 && now >= heard_at_ + limits_.silence;
}

Duration Sender::silence(TimePoint now) const noexcept {
  return now - heard_at_;
}

}  // namespace acp::udp
