// The queue, the bottleneck and the delay, as times at which datagrams are due.
// Called by FaultySocket; knows no clock of its own.
#include "udp/delay_line.h"

#include <algorithm>

namespace acp::udp {

void DelayLine::put(TimePoint arrived,
                    Duration jitter,
                    const Address& from,
                    std::span<const std::byte> bytes) {
  const auto passed = pass_bottleneck(arrived, bytes.size());
  if (!passed || held_bytes_ + bytes.size() > kMostHeldBytes) {
    return;
  }
  held_bytes_ += bytes.size();
  held_.emplace(*passed + plan_.delay + jitter,
                Held{from, {bytes.begin(), bytes.end()}});
}

std::optional<DelayLine::Arrival> DelayLine::take(TimePoint now,
                                                  std::span<std::byte> buffer) {
  if (next_due() > now) {
    return std::nullopt;
  }
  const auto first = held_.extract(held_.begin());
  const auto& [from, bytes] = first.mapped();
  held_bytes_ -= bytes.size();
  std::ranges::copy(bytes, buffer.begin());
  return Arrival{.bytes = bytes.size(),
                 .from = from,
                 .waited = now - first.key(),
                 .datagram = buffer.first(bytes.size())};
}

/// When the last byte of the datagram has passed the bottleneck; nothing when
/// the queue has no room for it. The queue holds what arrives while the
/// bottleneck is busy, so its length follows from the time until it is free.
std::optional<TimePoint> DelayLine::pass_bottleneck(TimePoint arrived,
                                                    std::size_t bytes) {
  if (plan_.rate == 0) {
    return arrived;
  }
  constexpr double kNanoseconds = 1e9;
  const auto rate = static_cast<double>(plan_.rate);
  const Duration wait = std::max(bottleneck_free_ - arrived, Duration::zero());
  const double queued = static_cast<double>(wait.count()) * rate / kNanoseconds;
  if (queued + static_cast<double>(bytes) >
      static_cast<double>(plan_.queue_bytes)) {
    return std::nullopt;
  }
  bottleneck_free_ = arrived + wait +
                     Duration(static_cast<std::int64_t>(
                         static_cast<double>(bytes) * kNanoseconds / rate));
  return bottleneck_free_;
}

}  // namespace acp::udp
