// The transitions between the states of the progress thread. Called by
// run_progress_thread; may not look at a clock or at shared memory.
#include "runtime/progress_states.h"

#include <algorithm>
#include <utility>

namespace acp::runtime {

/// A caller that waits and makes passes does all that the thread would do. The
/// thread would take the core and the packets from it. But a caller that waits
/// for room in a full window makes passes without steps.
ProgressStates::Next ProgressStates::before_pass(const Sight& sight) noexcept {
  if (sight.awake == 0 || sight.passes == passes_seen_ ||
      sight.steps_are_wanted) {
    return {};
  }
  passes_seen_ = sight.passes;
  return nap_beside_callers();
}

/// Callers come before a busy step: if they are active, they use its data.
ProgressStates::Next ProgressStates::after_pass(Pass pass,
                                                const Sight& sight) noexcept {
  if (pass == Pass::kMoved) {
    was_woken_early_ = false;
    next_nap_ = sight.awake == 0 ? kShortNap : next_nap_;
    return {};
  }
  const bool is_busy = pass == Pass::kBusy;
  const bool was_woken_early = std::exchange(was_woken_early_, false);
  if (callers_are_active(was_woken_early || is_busy, sight)) {
    return is_busy ? Next{State::kNapping, kTick, true} : nap_beside_callers();
  }
  next_nap_ = kShortNap;
  if (is_busy) {
    // A caller in the role sleeps, and may be the user of the data.
    return {State::kNapping, sight.caller_has_role ? kTick : kBusyNap};
  }
  return {State::kAsleep};
}

void ProgressStates::slept(Duration time, bool was_woken) noexcept {
  was_woken_early_ = was_woken && time < kTick;
}

/// One pass of a caller is enough in two cases. In the first, the thread was
/// woken from a short sleep and found nothing. So the caller has taken the
/// message that woke the thread, and will take the next one. In the second, a
/// step was busy: the pass shows that the user of its data is at work.
bool ProgressStates::callers_are_active(bool one_is_enough,
                                        const Sight& sight) noexcept {
  const std::uint64_t since = sight.passes - passes_seen_;
  const std::uint64_t many = std::exchange(many_passes_, kManyPasses);
  passes_seen_ = sight.passes;
  return since >= (one_is_enough ? 1 : many) || sight.awake != 0;
}

ProgressStates::Next ProgressStates::nap_beside_callers() noexcept {
  const Duration nap = next_nap_;
  next_nap_ = std::min(2 * nap, kTick);
  many_passes_ = kManyPasses * nap / kTick;
  return {State::kNapping, nap, true};
}

}  // namespace acp::runtime
