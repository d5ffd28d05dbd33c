// The states of the progress thread without the thread: each state follows from
// the last pass and from the callers' activity. No clock, no system call and no
// shared memory is used here, so tests check the transitions under a virtual
// clock. run_progress_thread (progress_loop.h) acts on the states.
//
// progress.h has the table of the states and their transitions.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace acp::runtime {

/// Used by the progress thread alone.
class ProgressStates {
 public:
  enum class State : std::uint8_t {
    kPolling,
    kNapping,
    kBesideCaller,
    kAsleep
  };

  /// The longest nap beside callers at work. It bounds how long a request of a
  /// peer lies when the caller stops making passes. Shorter naps beside a
  /// caller that polls on cost it too much (docs/decisions/0008).
  static constexpr Duration kTick = std::chrono::milliseconds(1);
  /// The first nap beside callers at work. A program that computes between
  /// short calls answers its peers after about this time.
  static constexpr Duration kShortNap = std::chrono::microseconds(50);
  /// The time until steps run again that found their data in use, if no caller
  /// makes passes. Requests of peers lie as long, so it is no longer than
  /// kShortNap. Shorter ones take the core of the call that uses the data.
  /// Without a nap, stream.1M over UDP took 0.4 to 3.4 ms instead of 0.33 to
  /// 0.7 ms (docs/decisions/0008).
  static constexpr Duration kBusyNap = std::chrono::microseconds(50);
  /// Longest stay beside a caller. The end of a caller's wait ends it. The
  /// limit matters only when a caller stays in its own condition function for
  /// long, and two wake-ups a second cost nothing.
  static constexpr Duration kLongestRest = std::chrono::milliseconds(500);
  /// Callers count as active if they have made so many passes in a tick, one in
  /// 16 us. In a shorter nap, a proportional part of them is enough. A loop of
  /// gets over UDP makes 100 passes at least, since each get takes 8 to 10 us.
  /// If it did not count, the thread would wake up for each packet, and a get
  /// would take 18 to 20 us (docs/decisions/0008). With a much lower limit, a
  /// program that computes and only asks now and then would count. The thread
  /// would then nap for 1 ms while peers wait: put8.poll took 536 us one way,
  /// and not 57 us.
  static constexpr std::uint64_t kManyPasses = 64;

  /// The callers, as far as the thread can see them.
  struct Sight {
    std::uint64_t passes = 0;  ///< Made by callers so far.
    std::uint32_t awake = 0;   ///< Callers that wait and are not asleep.
    bool caller_has_role = false;
    bool steps_are_wanted = false;  ///< Progress::hurry_steps() was called.
  };

  /// The result of a pass and of the steps after it.
  enum class Pass : std::uint8_t { kNothing, kBusy, kMoved };

  struct Next {
    State state = State::kPolling;
    Duration nap{0};        ///< Only in kNapping and kBesideCaller.
    bool detaches = false;  ///< Takes the transports out of epoll: the callers
                            ///< at work would pay for it with each packet.
  };

  /// The state before a pass: kPolling or kNapping.
  Next before_pass(const Sight& sight) noexcept;

  /// The state after a pass: any but kBesideCaller.
  Next after_pass(Pass pass, const Sight& sight) noexcept;

  /// The state instead of kAsleep when a caller has the role.
  Next beside_caller() const noexcept {
    return {State::kBesideCaller, kLongestRest};
  }

  /// The thread has been asleep in epoll. `was_woken`: the doorbell or an
  /// arrival ended the sleep, and not its deadline.
  void slept(Duration time, bool was_woken) noexcept;

 private:
  bool callers_are_active(bool one_is_enough, const Sight& sight) noexcept;
  Next nap_beside_callers() noexcept;

  std::uint64_t passes_seen_ = 0;  ///< Sight::passes at the last look.
  Duration next_nap_ = kShortNap;  ///< The next nap beside callers.
  /// Passes since the last look that make callers active.
  std::uint64_t many_passes_ = kManyPasses;
  /// The last sleep was short, and nothing has been found since.
  bool was_woken_early_ = false;
};

}  // namespace acp::runtime
