// The order in which threads fall asleep in epoll and beside a caller, with the
// invariants of the header. Called by Progress; may not make a system call.
#include "runtime/progress_loop.h"

#include <algorithm>

namespace acp::runtime {

namespace {

using State = ProgressStates::State;

void nap(ProgressActions& thread, Duration limit) {
  const std::uint32_t word = thread.nap_word();
  // stop() sets is_stopping() and then moves the word.
  if (!thread.is_stopping()) {
    thread.sleep_on_nap_word(word, limit);
  }
}

/// Keeps invariant 7: the order of these lines.
void stay_beside_caller(ProgressActions& thread, Duration limit) {
  const std::uint32_t word = thread.nap_word();
  thread.set_beside_caller(true);
  if (!thread.is_stopping() && thread.caller_has_role()) {
    thread.sleep_on_nap_word(word, limit);
  }
  thread.set_beside_caller(false);
}

void sleep_in_role(ProgressActions& thread,
                   EpollSleeper& sleeper,
                   ProgressStates& states,
                   TimePoint limit) {
  const TimePoint start = sleeper.now();
  const bool was_woken = sleep_in_epoll(sleeper, limit);
  states.slept(sleeper.now() - start, was_woken);
  thread.leave_role();
}

/// The last look, which may lower `limit`. True: nothing keeps the thread from
/// sleeping.
bool may_sleep(EpollSleeper& sleeper, TimePoint& limit) {
  if (!sleeper.arm(limit) || sleeper.is_over()) {
    return false;
  }
  const ProgressSteps::Outcome steps = sleeper.run_steps_again();
  if (steps == ProgressSteps::Outcome::kBusy) {
    limit = std::min(limit, sleeper.now() + sleeper.busy_nap());
  }
  return steps != ProgressSteps::Outcome::kMoved;
}

}  // namespace

bool sleep_in_epoll(EpollSleeper& sleeper, TimePoint limit) {
  sleeper.empty_doorbell();  // invariant 1
  if (!sleeper.watch_transports()) {
    limit = std::min(limit, sleeper.now() + ProgressStates::kTick);
  }
  sleeper.mark_asleep();  // invariant 2
  const bool was_woken = may_sleep(sleeper, limit) && sleeper.wait(limit);
  sleeper.mark_awake();
  sleeper.disarm();
  return was_woken;
}

/// The role is taken after the decision to sleep, because a caller may have
/// taken it since the last look. Transports leave epoll before a nap only.
void run_progress_thread(ProgressActions& thread, EpollSleeper& sleeper) {
  ProgressStates states;
  while (!thread.is_stopping()) {
    const TimePoint next_beat = thread.beat();
    ProgressStates::Next next = states.before_pass(thread.look());
    if (next.state == State::kPolling) {
      const ProgressStates::Pass pass = thread.make_pass();
      next = states.after_pass(pass, thread.look());
    }
    if (next.state == State::kAsleep && !thread.take_role()) {
      next = states.beside_caller();
    }
    if (next.detaches) {
      thread.stop_watching();
    }
    switch (next.state) {
      case State::kPolling: break;
      case State::kNapping: nap(thread, next.nap); break;
      case State::kBesideCaller: stay_beside_caller(thread, next.nap); break;
      case State::kAsleep:
        sleep_in_role(thread, sleeper, states, next_beat);
        break;
    }
  }
}

}  // namespace acp::runtime
