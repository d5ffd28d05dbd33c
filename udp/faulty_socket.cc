// A datagram socket that applies ACP_UDP_FAULTS on arrival, in receive().
// UdpTransport::open puts it in front of the kernel's socket, for tests only.
// It may not change sending, which passes through.
#include "udp/faulty_socket.h"

#include <algorithm>

namespace acp::udp {

namespace {

/// A late datagram is overtaken by up to this many others.
constexpr std::uint64_t kMaxWait = 8;
/// One call of receive() moves at most this many datagrams into a DelayLine, so
/// that it ends however fast they arrive.
constexpr int kMostMoved = 64;

}  // namespace

FaultySocket::FaultySocket(std::unique_ptr<DatagramSocket> inner,
                           const FaultPlan& plan,
                           transport::ProcId me,
                           const Clock& clock)
    : inner_(std::move(inner)),
      plan_(plan),
      dice_(plan.seed * 1'000'003 + me),
      clock_(clock),
      kept_(inner_->addresses().size()),
      lines_(inner_->addresses().size(), DelayLine(plan.path)) {}

/// Late datagrams come first. A new one is lost, doubled, delayed or damaged,
/// in this order of rolls, so that a seed always gives the same faults.
std::optional<DatagramSocket::Arrival> FaultySocket::receive(
    transport::Color color, std::span<std::byte> buffer) {
  if (const auto arrival = release_kept(color, buffer)) {
    return arrival;
  }
  while (auto arrival = next_of_path(color, buffer)) {
    if (arrival->bytes == 0 || arrival->bytes > buffer.size()) {
      return arrival;
    }
    if (dice_.hits(plan_.loss)) {
      continue;
    }
    if (dice_.hits(plan_.duplicate)) {
      keep(color, *arrival);
    }
    if (dice_.hits(plan_.reorder)) {
      keep(color, *arrival);
      continue;
    }
    if (dice_.hits(plan_.corrupt)) {
      dice_.damage(arrival->datagram);
    }
    return arrival;
  }
  return std::nullopt;
}

/// With a path, all that has arrived moves into its DelayLine first: the time
/// that a datagram is held begins when it arrives. A datagram that cannot be
/// used passes at once.
std::optional<DatagramSocket::Arrival> FaultySocket::next_of_path(
    transport::Color color, std::span<std::byte> buffer) {
  if (!plan_.path.is_active()) {
    return inner_->receive(color, buffer);
  }
  DelayLine& line = lines_[color];
  for (int moved = 0; moved < kMostMoved; ++moved) {
    const auto arrival = inner_->receive(color, buffer);
    if (!arrival) {
      break;
    }
    if (arrival->bytes == 0 || arrival->bytes > buffer.size()) {
      return arrival;
    }
    line.put(clock_.now() - arrival->waited, dice_.below(plan_.path.jitter),
             arrival->from, arrival->datagram);
  }
  return line.take(clock_.now(), buffer);
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
  return Arrival{.bytes = first.bytes.size(),
                 .from = first.from,
                 .datagram = buffer.first(first.bytes.size())};
}

void FaultySocket::keep(transport::Color color, const Arrival& arrival) {
  const std::span<const std::byte> bytes = arrival.datagram;
  kept_[color].push_back({arrival.from,
                          {bytes.begin(), bytes.end()},
                          static_cast<int>(1 + dice_.roll() % kMaxWait)});
}

bool FaultySocket::has_backlog() const noexcept {
  return inner_->has_backlog() ||
         std::any_of(kept_.begin(), kept_.end(),
                     [](const auto& kept) { return !kept.empty(); });
}

TimePoint FaultySocket::next_due() const noexcept {
  TimePoint next = TimePoint::max();
  for (const DelayLine& line : lines_) {
    next = std::min(next, line.next_due());
  }
  return next;
}

}  // namespace acp::udp
