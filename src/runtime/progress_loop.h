// How a thread falls asleep in epoll, and how the progress thread goes from
// state to state. The order of the actions is here; the actions themselves are
// Progress's. Tests run actions of other threads between any two of them.
//
// No wake-up is lost because of these invariants. A waker does two things: it
// stores the reason to wake, and then wakes the sleeper if it is marked asleep.
// All these accesses are seq_cst, and so one of the two sees the other's store.
//
//  1. The doorbell socket is emptied before the last look. A waker stores its
//     reason before it sends a token, so the last look finds the reason of each
//     token that is thrown away.
//  2. The sleeper is marked asleep before its last look. The last look finds
//     each reason that was stored before it. The waker of a later reason sees
//     the mark, and its token ends the sleep.
//  3. The last look covers everything that a wake-up can be for:
//     messages and packets (arm), time-outs of the transports (arm's deadline),
//     the end of the wait or of the thread, a step that was added, a caller
//     that wants the role (is_over), and work for steps (run_steps_again).
//  4. The deadline up to which the sleeper sleeps is published under the
//     engine's mutex, in the same section that reads it. A caller that brings
//     about an earlier one, under the same mutex, rouses the sleeper.
//  5. Only the thread in the role of the poller marks itself asleep in epoll.
//     It takes the mark away before it gives the role away.
//  6. Transports are in epoll from before the mark to the end of the
//     sleep, or the sleep is short. The thread that takes them out of epoll has
//     the role.
//  7. The nap word is read, then the stay beside the caller is marked, then
//     the role is looked at. A caller gives the role back before it looks for
//     that mark at the end of its wait, and then moves the word.
//  8. Steps that are wanted run after a pass, and in a last look. The wish is
//     cleared before they run, so a wish that comes meanwhile stays. The thread
//     naps beside active callers for 1 ms at most, and then looks at the wish
//     before it naps again.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "runtime/progress_states.h"
#include "runtime/progress_steps.h"

namespace acp::runtime {

/// The actions of a sleep in epoll, in the order of the calls. The caller of
/// sleep_in_epoll has the role of the poller.
class EpollSleeper {
 public:
  EpollSleeper() = default;
  EpollSleeper(const EpollSleeper&) = delete;
  EpollSleeper& operator=(const EpollSleeper&) = delete;
  virtual ~EpollSleeper() = default;

  virtual TimePoint now() = 0;
  virtual void empty_doorbell() = 0;
  /// False: the system refuses, so arrivals do not end the sleep.
  virtual bool watch_transports() = 0;
  virtual void mark_asleep() = 0;
  /// False: messages have arrived. Lowers `limit` to the next deadline of the
  /// transports and publishes it.
  virtual bool arm(TimePoint& limit) = 0;
  /// There is a reason not to sleep.
  virtual bool is_over() = 0;
  virtual ProgressSteps::Outcome run_steps_again() = 0;
  /// True when the doorbell or an arrival ended it.
  virtual bool wait(TimePoint limit) = 0;
  virtual void mark_awake() = 0;
  virtual void disarm() = 0;

  /// Longest sleep after a step that found its data in use.
  virtual Duration busy_nap() const = 0;
};

/// Sleeps until the doorbell, an arrival or `limit`; true when the doorbell or
/// an arrival ended the sleep. Returns at once when the last look finds a
/// reason not to sleep.
bool sleep_in_epoll(EpollSleeper& sleeper, TimePoint limit);

/// The actions of the progress thread outside of epoll, and its view of the
/// callers.
class ProgressActions {
 public:
  ProgressActions() = default;
  ProgressActions(const ProgressActions&) = delete;
  ProgressActions& operator=(const ProgressActions&) = delete;
  virtual ~ProgressActions() = default;

  virtual bool is_stopping() = 0;
  /// Shows that this rank lives, if it is time to. Returns when it is time
  /// next, and the thread does not sleep in epoll beyond that. Comes once in
  /// each turn.
  virtual TimePoint beat() = 0;
  virtual ProgressStates::Sight look() = 0;
  virtual ProgressStates::Pass make_pass() = 0;
  /// Takes the transports out of epoll, unless a caller has the role.
  virtual void stop_watching() = 0;

  /// False: a caller has the role of the poller.
  virtual bool take_role() = 0;
  virtual void leave_role() = 0;
  virtual bool caller_has_role() = 0;

  virtual std::uint32_t nap_word() = 0;
  /// Sleeps while the nap word is `word`.
  virtual void sleep_on_nap_word(std::uint32_t word, Duration limit) = 0;
  /// Asks for the nap word to be moved at the end of a caller's wait.
  virtual void set_beside_caller(bool is_beside) = 0;
};

/// The progress thread's whole life. `thread` and `sleeper` are the same
/// thread: its own actions, and its actions in epoll.
void run_progress_thread(ProgressActions& thread, EpollSleeper& sleeper);

}  // namespace acp::runtime
