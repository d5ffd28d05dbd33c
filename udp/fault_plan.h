// Faults for tests: how often a datagram is lost, doubled, reordered or
// damaged, and how long it is under way. The random numbers that decide it are
// here, too. Used by FaultySocket and by the network of the tests.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/clock.h"

namespace acp::udp {

/// The path to each socket. A plain value.
struct PathPlan {
  Duration delay{};
  Duration jitter{};       ///< Each datagram is later by up to this time.
  std::uint64_t rate = 0;  ///< Bytes a second of its bottleneck; 0: none.
  /// Queue before the bottleneck. What does not fit is lost.
  std::uint64_t queue_bytes = std::uint64_t{1} << 20;

  bool is_active() const noexcept {
    return delay > Duration::zero() || jitter > Duration::zero() || rate > 0;
  }

  friend bool operator==(const PathPlan&, const PathPlan&) = default;
};

/// Probabilities, each for a single datagram, and the path. A plain value.
struct FaultPlan {
  double loss = 0;
  double duplicate = 0;
  double reorder = 0;
  double corrupt = 0;
  std::uint64_t seed = 1;
  PathPlan path{};

  bool is_active() const noexcept {
    return loss > 0 || duplicate > 0 || reorder > 0 || corrupt > 0 ||
           path.is_active();
  }

  friend bool operator==(const FaultPlan&, const FaultPlan&) = default;
};

/// A text for messages and documentation that has all parts.
inline constexpr std::string_view kFaultPlanExample =
    "loss=0.05,duplicate=0.02,reorder=0.05,corrupt=0.01,seed=7,delay=2ms,"
    "jitter=500us,rate=20M,queue=1M";

/// Parses a text such as kFaultPlanExample; every part may be left out. A time
/// has the unit ns, us, ms or s; rate and queue are sizes as of parse_bytes().
/// Nothing for any other text, for probabilities outside 0 .. 1, and for times
/// above ten seconds. Nothing for loss or corrupt above 0.9, with which hardly
/// a datagram would arrive. Nothing for a rate below 1,000, and for a queue
/// below 64K, which the largest datagram would never pass.
std::optional<FaultPlan> parse_fault_plan(std::string_view text);

/// A reproducible sequence of random numbers (splitmix64). Not thread-safe.
class FaultDice {
 public:
  explicit FaultDice(std::uint64_t seed) noexcept : state_(seed) {}

  std::uint64_t roll() noexcept;

  /// True with the given probability.
  bool hits(double rate) noexcept;

  /// A time from zero to `limit`; zero rolls no number.
  Duration below(Duration limit) noexcept;

  /// Flips one bit; the span is not empty.
  void damage(std::span<std::byte> bytes) noexcept;

 private:
  std::uint64_t state_;  ///< Advanced by roll().
};

}  // namespace acp::udp
