// Faults for tests: how often a datagram is lost, doubled, reordered or
// damaged, and the random numbers that decide it. Used by FaultySocket and by
// the network of the tests.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace acp::udp {

/// Probabilities, each for a single datagram. A plain value.
struct FaultPlan {
  double loss = 0;
  double duplicate = 0;
  double reorder = 0;
  double corrupt = 0;
  std::uint64_t seed = 1;

  bool is_active() const noexcept {
    return loss > 0 || duplicate > 0 || reorder > 0 || corrupt > 0;
  }

  friend bool operator==(const FaultPlan&, const FaultPlan&) = default;
};

/// "loss=0.05,duplicate=0.02,reorder=0.05,corrupt=0.01,seed=7"; every part
/// may be left out. Nothing for any other text, for rates outside 0 .. 1, and
/// for loss or corrupt above 0.9, with which hardly a datagram would arrive.
std::optional<FaultPlan> parse_fault_plan(std::string_view text);

/// A reproducible sequence of random numbers (splitmix64). Not thread-safe.
class FaultDice {
 public:
  explicit FaultDice(std::uint64_t seed) noexcept : state_(seed) {}

  std::uint64_t roll() noexcept;

  /// True with the given probability.
  bool hits(double rate) noexcept;

  /// Flips one bit; the span is not empty.
  void damage(std::span<std::byte> bytes) noexcept;

 private:
  std::uint64_t state_;
};

}  // namespace acp::udp
