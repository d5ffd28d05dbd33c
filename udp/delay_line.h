// A path for tests: datagrams that arrive are held for a time, and pass a link
// of limited rate. FaultySocket has one for each color (ACP_UDP_FAULTS).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.h"
#include "udp/datagram_socket.h"
#include "udp/fault_plan.h"

namespace acp::udp {

/// One thread at a time. Allocates: it is for tests only. Holds at most
/// kMostHeldBytes, and drops what does not fit.
class DelayLine {
 public:
  using Arrival = DatagramSocket::Arrival;

  static constexpr std::size_t kMostHeldBytes = std::size_t{64} << 20;

  explicit DelayLine(const PathPlan& plan) : plan_(plan) {}

  /// Takes a datagram that has reached the host at `arrived`. It waits in the
  /// queue of the bottleneck, passes it, and is then under way for the delay
  /// and `jitter`. The queue drops a datagram that does not fit.
  void put(TimePoint arrived,
           Duration jitter,
           const Address& from,
           std::span<const std::byte> bytes);

  /// Gives out the first datagram that is due. `buffer` has room for each
  /// datagram that was put in.
  std::optional<Arrival> take(TimePoint now, std::span<std::byte> buffer);

  /// When the next datagram is due; TimePoint::max() when none is held.
  TimePoint next_due() const noexcept {
    return held_.empty() ? TimePoint::max() : held_.begin()->first;
  }

 private:
  struct Held {
    Address from;
    std::vector<std::byte> bytes;
  };

  std::optional<TimePoint> pass_bottleneck(TimePoint arrived,
                                           std::size_t bytes);

  // The socket that has this line writes and reads it, under the engine's
  // mutex.
  PathPlan plan_;
  /// By the time at which they are due. Equal times keep the order of arrival.
  /// put() adds, and take() removes.
  std::multimap<TimePoint, Held> held_;
  std::size_t held_bytes_ = 0;  ///< Sum of held_, written with it.
  /// The bottleneck has passed everything by then. Written by
  /// pass_bottleneck().
  TimePoint bottleneck_free_{};
};

}  // namespace acp::udp
