// The rules of CongestionWindow. Called by Sender with every ack, loss and
// transmission; knows neither packets nor clocks.
#include "udp/congestion.h"

#include <utility>

namespace acp::udp {

namespace {

/// Most that one reaction takes from the window, of 1024.
constexpr std::uint32_t kMostShrink = 512;
/// Share of the queueless path's content that a reduction leaves, of 1024.
constexpr std::int64_t kDrained = 921;
constexpr std::uint32_t kLossShrink = 307;  // 0.3
/// After this many bytes both counts of bytes are halved, so that older losses
/// count less.
constexpr std::uint32_t kRoundBytes = 1U << 22;

std::uint32_t microseconds_of(TimePoint time) noexcept {
  return static_cast<std::uint32_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(
          time.time_since_epoch())
          .count());
}

Duration age(std::uint32_t since, std::uint32_t now) noexcept {
  return std::chrono::microseconds(std::uint32_t{now - since});
}

}  // namespace

/// The window grows only while it is what limits the stream: half of it was
/// under way. It doubles at the start, and then gains one packet for each
/// window that is acknowledged.
void CongestionWindow::on_ack(std::uint64_t acked,
                              std::uint64_t in_flight,
                              std::uint64_t most) noexcept {
  if (is_draining_ || rtt_ > target() || 2 * in_flight < window_) {
    return;
  }
  is_full_ = true;
  const std::uint64_t gain =
      is_starting() ? acked
                    : std::max<std::uint64_t>(kPacket * acked / window_, 1);
  window_ = static_cast<std::uint32_t>(std::min<std::uint64_t>(
      window_ + gain, std::max<std::uint64_t>(most, kLeast)));
}

/// The least delay of a round trip counts. A queue delays all packets of it,
/// and a host that was busy for a while only some.
void CongestionWindow::on_sample(Duration rtt, TimePoint now) noexcept {
  rtt_ = shorten(rtt);
  const std::uint32_t time = microseconds_of(now);
  if (rtt_ <= least_rtt_ || age(least_rtt_time_, time) > kLeastRttAge) {
    least_rtt_ = rtt_;
    least_rtt_time_ = time;
  }
  round_least_ = std::min(round_least_, rtt_);
  if (age(round_start_, time) >= rtt_) {
    end_round(now);
  }
}

/// Takes the queue's content from the window, and a little more, so that the
/// queue becomes empty; at most half, and not below kLeastByDelay. Delay below
/// kLeastQueue is the hosts' own, and no reduction makes it shorter.
void CongestionWindow::end_round(TimePoint now) noexcept {
  if (std::exchange(is_draining_, false)) {
    window_ += window_ / 8 * 7;
  } else if (round_least_ > target()) {
    const Duration least = std::max<Duration>(least_rtt_, kLeastQueue);
    const auto kept = static_cast<std::uint32_t>(kDrained * least.count() /
                                                 round_least_.count());
    shrink(std::min(1024 - kept, kMostShrink), kLeastByDelay, now);
  } else if (std::exchange(is_full_, false) &&
             ++full_rounds_ >= kRoundsToDrain) {
    drain();
  }
  round_least_ = ShortDuration::max();
  round_start_ = microseconds_of(now);
}

/// Lets the queue run empty for a round, to measure the path without it. A
/// stream without reductions may have taken the queue of others for a part of
/// the path. While a limit of its window keeps it below its target, it would
/// leave nothing to them. It gets most of its window back.
void CongestionWindow::drain() noexcept {
  full_rounds_ = 0;
  if (window_ / 2 >= kLeastByDelay) {
    window_ -= window_ / 2;
    is_draining_ = true;
  }
}

/// The rate is a quarter above the window per round trip, so that pacing never
/// holds back a window that could be sent. A window of eight packets is no
/// burst that has to be spread. Its few packets would wait for a round trip
/// that may be the time until the peer gets a processor.
std::uint64_t CongestionWindow::rate() const noexcept {
  if (rtt_ == ShortDuration::zero() || window_ <= kFirst) {
    return 0;
  }
  return std::uint64_t{window_} * (is_starting() ? 8 : 5) / 4;
}

std::uint64_t CongestionWindow::burst(TimePoint now) const noexcept {
  const std::uint64_t per_round = rate();
  if (per_round == 0) {
    return UINT64_MAX;
  }
  const Duration left = kBurstTime - std::max(pace_ - now, Duration(0));
  return static_cast<std::uint64_t>(std::max(left, Duration(0)).count()) *
         per_round / rtt_.count();
}

void CongestionWindow::on_sent(std::uint64_t bytes, TimePoint now) noexcept {
  round_sent_ += static_cast<std::uint32_t>(bytes);
  if (round_sent_ > kRoundBytes) {
    round_sent_ /= 2;
    round_lost_ /= 2;
  }
  if (const std::uint64_t per_round = rate(); per_round != 0) {
    const auto time = Duration(static_cast<std::int64_t>(
        bytes * std::uint64_t{rtt_.count()} / per_round));
    pace_ = std::max(pace_, now) + time;
  }
}

void CongestionWindow::on_loss(std::uint64_t bytes, TimePoint now) noexcept {
  round_lost_ += static_cast<std::uint32_t>(bytes);
  if (std::uint64_t{round_lost_} * kLossShare >
      std::max(round_sent_, window_)) {
    shrink(kLossShrink, kLeast, now);
  }
}

/// The first time-out may be one lost packet at the end of a burst. Two in a
/// row mean that nothing passes.
void CongestionWindow::on_timeout(std::uint32_t count) noexcept {
  if (count >= 2) {
    next_shrink_ = TimePoint{};
    window_ = kLeast;
  }
}

/// Not below `least`; a window that is smaller stays.
void CongestionWindow::shrink(std::uint32_t parts_of_1024,
                              std::uint32_t least,
                              TimePoint now) noexcept {
  if (now < next_shrink_) {
    return;
  }
  const std::uint64_t taken = std::uint64_t{window_} * parts_of_1024 / 1024;
  window_ = std::max(window_ - static_cast<std::uint32_t>(taken),
                     std::min(least, window_));
  next_shrink_ = now + rtt_;
  full_rounds_ = 0;
  round_sent_ = 0;
  round_lost_ = 0;
}

CongestionWindow::ShortDuration CongestionWindow::shorten(
    Duration time) noexcept {
  const Duration shown =
      std::clamp<Duration>(time, Duration(1), ShortDuration::max());
  return ShortDuration(static_cast<std::uint32_t>(shown.count()));
}

}  // namespace acp::udp
