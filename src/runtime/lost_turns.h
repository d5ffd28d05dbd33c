// Whether a rank that waits in a barrier may yield its core.
//
// Where ranks share cores, a yield lets the rank run that is waited for. It
// takes a microsecond, and a sleep with its wake-up takes 15. But a yield gives
// the core to any thread, and Linux takes the rest of a time slice away from
// the thread that yields. A program that computes on the same core then keeps
// it for one or more ticks of the kernel (4 ms each at 250 Hz), while the
// barrier is over and its rank could run. A rank that slept has its core back
// at once, because the kernel has not taken anything away from it.
//
// So each rank looks how late it comes back from a yield. After a lost turn it
// sleeps at once in the barriers of some time, and then tries again.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace acp::runtime {

/// Used by one thread at a time. Has no clock and makes no system call, so
/// tests run it under a virtual scheduler.
class LostTurns {
 public:
  /// A rank that yielded has lost its turn if it runs again so long after the
  /// end of the barrier. The turns of 16 ranks on one core take less, and the
  /// shortest tick of the kernel takes more.
  static constexpr Duration kLate = std::chrono::microseconds(500);
  /// Longest time without yields. A trial costs some ticks of the kernel, about
  /// one part in a hundred of this time.
  static constexpr Duration kLongestBan = std::chrono::seconds(1);

  /// Whether the last turn was lost so recently that may_yield() needs the
  /// time.
  bool is_banned() const noexcept { return banned_until_ != TimePoint{}; }

  /// Whether a wait that begins `now` may yield. Ends a ban that is over.
  bool may_yield(TimePoint now) noexcept;

  /// A rank that has yielded found the barrier over `late` after its end. The
  /// first ban lasts as long as the turn that was lost, so a single program
  /// that ran for a short time costs little more. Each further ban lasts twice
  /// as long, if yields went well for a shorter time than the last ban.
  void ran_again(TimePoint now, Duration late) noexcept;

  /// Turns that were lost so far.
  std::uint64_t lost() const noexcept { return lost_; }

 private:
  std::uint64_t lost_ = 0;
  TimePoint banned_until_{};   ///< TimePoint{}: yields are allowed.
  TimePoint allowed_since_{};  ///< The end of the last ban.
  Duration last_ban_{0};       ///< Its length.
};

}  // namespace acp::runtime
