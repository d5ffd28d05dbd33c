// The order of steps that end a rank. Called by HostWatch, which takes the
// steps. It does no system call.
#include "runtime/job_end.h"

namespace acp::runtime {

EndSchedule::EndSchedule(EndCause cause, TimePoint now) noexcept
    : next_(cause == EndCause::kRankLost ? EndStep::kAbortJob
                                         : EndStep::kTerminate),
      due_(cause == EndCause::kLauncherLost ? now : now + kPause) {}

void EndSchedule::take(TimePoint now) noexcept {
  next_ = next_ == EndStep::kAbortJob ? EndStep::kTerminate : EndStep::kKill;
  due_ = now + kPause;
}

}  // namespace acp::runtime
