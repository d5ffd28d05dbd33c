// The order of actions that end a rank. Called by HostWatch, which takes the
// actions. It does no system call.
#include "runtime/job_end.h"

namespace acp::runtime {

EndSchedule::EndSchedule(EndCause cause, TimePoint now) noexcept
    : next_(cause == EndCause::kRankLost ? EndAction::kAbortJob
                                         : EndAction::kTerminate),
      due_(cause == EndCause::kLauncherLost ? now : now + kPause) {}

void EndSchedule::take(TimePoint now) noexcept {
  const bool is_abort = next_ == EndAction::kAbortJob;
  next_ = is_abort ? EndAction::kTerminate : EndAction::kKill;
  due_ = now + (is_abort ? kPause : kGrace);
}

}  // namespace acp::runtime
