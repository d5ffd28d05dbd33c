// Judges waits in acp_reset, and divides the end of the job among the leaders.
// Called by the thread of HostWatch. Pure.
#include "runtime/reset_verdict.h"

#include <algorithm>

namespace acp::runtime {

std::optional<LeaderMessage> ResetVerdict::judge(
    const std::optional<HostPhases::Waiting>& waiting) {
  if (stuck_ || !waiting) {
    return std::nullopt;
  }
  const auto missing = judge_.missing_from(waiting->meeting);
  if (!missing) {
    return std::nullopt;
  }
  const protocol::Absence absence{missing->kind, missing->rank, 0};
  stuck_ = LeaderMessage{LeaderMessageType::kStuck, waiting->rank,
                         absence.word(), 0};
  return stuck_;
}

void ResetVerdict::leave_to_rank_0(TimePoint now, Line line) {
  due_ = now + (line == Line::kWritten ? kJudgementPause : kWritingLimit);
}

void ResetVerdict::note_written(TimePoint now) {
  if (is_pending()) {
    due_ = std::min(due_, now + kJudgementPause);
  }
}

LeaderMessage ResetVerdict::take() noexcept {
  due_ = TimePoint::max();
  return *stuck_;
}

}  // namespace acp::runtime
