// Faults are applied on arrival, in receive(). Sending passes through.
#include "udp/faulty_socket.h"

#include <algorithm>

namespace acp::udp {

namespace {

/// A late datagram is overtaken by up to this many others.
constexpr std::uint64_t kMaxWait = 8;

}  // namespace

FaultySocket::FaultySocket(std::unique_ptr<DatagramSocket> inner,
                           const FaultPlan& plan,
                           transport::ProcId me)
    : inner_(std::move(inner)),
      plan_(plan),
      dice_(plan.seed * 1'000'003 + me),
      kept_(inner_->addresses().size()) {}

/// Late datagrams come first. A new one is lost, doubled, delayed or damaged,
/// in this order of rolls, so that a seed always gives the same faults.
std::optional<DatagramSocket::Arrival> FaultySocket::receive(
    transport::Color color, std::span<std::byte> buffer) {
  if (const auto arrival = release_kept(color, buffer)) {
    return arrival;
  }
  while (auto arrival = inner_->receive(color, buffer)) {
    if (arrival->bytes == 0 || arrival->bytes > buffer.size()) {
      return arrival;
    }
    if (dice_.hits(plan_.loss)) {
      continue;
    }
    if (dice_.hits(plan_.duplicate)) {
      keep(color, *arrival, buffer);
    }
    if (dice_.hits(plan_.reorder)) {
      keep(color, *arrival, buffer);
      continue;
    }
    if (dice_.hits(plan_.corrupt)) {
      dice_.damage(buffer.first(arrival->bytes));
    }
    return arrival;
  }
  return std::nullopt;
}

std::optional<DatagramSocket::Arrival> FaultySocket::release_kept(
    transport::Color color, std::span<std::byte> buffer) {
  std::deque<Kept>& kept = kept_[color];
  if (kept.empty() || --kept.front().wait > 0) {
    return std::nullopt;
  }
  const Kept first = std::move(kept.front());
  kept.pop_front();
  std::copy(first.bytes.begin(), first.bytes.end(), buffer.begin());
  return Arrival{first.bytes.size(), first.from, {}};
}

void FaultySocket::keep(transport::Color color,
                        const Arrival& arrival,
                        std::span<const std::byte> buffer) {
  const auto bytes = buffer.first(arrival.bytes);
  kept_[color].push_back({arrival.from,
                          {bytes.begin(), bytes.end()},
                          static_cast<int>(1 + dice_.roll() % kMaxWait)});
}

bool FaultySocket::has_backlog() const noexcept {
  return inner_->has_backlog() ||
         std::any_of(kept_.begin(), kept_.end(),
                     [](const auto& kept) { return !kept.empty(); });
}

}  // namespace acp::udp
