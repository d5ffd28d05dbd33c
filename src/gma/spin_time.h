// How long a wait spins before it sleeps.
#pragma once

#include <algorithm>
#include <atomic>

#include "base/clock.h"

namespace acp::gma {

/// Waking a sleeper can take half a millisecond, on virtual machines above all.
/// Ranks that wait for each other would then sleep at each message, because
/// waking one rank outlasts the spin of the other. Each short sleep therefore
/// makes the waits after it spin longer, and one long sleep ends that.
/// Thread-safe: threads that report at once may lose one step of growth.
class SpinTime {
 public:
  /// Longer than most wake-ups, which take 100 to 600 us on a busy virtual
  /// machine (docs/decisions/0008-waiting-and-sleeping.md). With less than
  /// that, partners sleep at each message again: `ping_pong.4K` took 974 us
  /// instead of 7.5. With more, a rank answers later when its program begins to
  /// compute, and other programs get less of the core.
  static constexpr Duration kLongest = std::chrono::milliseconds(1);
  /// Twice a spin at its longest: one rank's waking and the other's.
  static constexpr Duration kShortSleep = 2 * kLongest;

  Duration at_least(Duration least) const noexcept {
    return std::max(least, Duration(grown_.load(std::memory_order_relaxed)));
  }

  /// A spin was in vain: `asleep` passed from the sleep after it to the next
  /// arrival or to the end of the wait.
  void slept(Duration asleep) noexcept {
    // Twice the spin of WaitPolicy: one short sleep costs little more, and the
    // third in a row reaches kLongest.
    constexpr Duration kFirst = std::chrono::microseconds(100);
    const Duration grown(grown_.load(std::memory_order_relaxed));
    const Duration next = asleep < kShortSleep
                              ? std::clamp(4 * grown, kFirst, kLongest)
                              : Duration(0);
    grown_.store(next.count(), std::memory_order_relaxed);
  }

 private:
  /// Written by slept() in any waiting thread. Relaxed, because it is a guess
  /// that orders nothing.
  std::atomic<Duration::rep> grown_{0};
};

}  // namespace acp::gma
