// Keeps the verdict of a job, and computes the times that follow from it.
// Called by job.cc alone. Pure: it ends no process.
#include "launcher/job_verdict.h"

#include <algorithm>
#include <utility>

namespace acp::launcher {

/// Only the cause and the signal of a rank that acprun itself interrupted
/// matter.
bool JobVerdict::set(Verdict verdict, Clock::time_point now) {
  if (verdict_) return false;
  if (held_) verdict = *held_;
  if (verdict.cause == Cause::kSignaled &&
      passed_on_.count(static_cast<int>(verdict.value)) != 0) {
    const std::int64_t signal = verdict.value;
    verdict = {};
    verdict.cause = Cause::kInterrupted;
    verdict.value = signal;
  }
  verdict_ = std::move(verdict);
  force_at_ = now + grace() + kKeeperLimit;
  if (hosts_ == JobHosts::kOthers) force_at_ += kDaemonLimit;
  if (is_asked_for()) give_up_output_at_ = force_at_;
  return true;
}

bool JobVerdict::is_asked_for() const noexcept {
  return verdict_->cause == Cause::kInterrupted ||
         verdict_->cause == Cause::kTimeout;
}

JobVerdict::Milliseconds JobVerdict::grace() const noexcept {
  return is_asked_for() ? user_grace_ : std::min(user_grace_, kFailureGrace);
}

void JobVerdict::hold(Verdict verdict, Clock::time_point now) {
  if (held_) return;
  held_ = std::move(verdict);
  hold_until_ = now + kUnlikeLimit;
}

bool JobVerdict::is_asked_again(Clock::time_point now) {
  if (++requests_ < 2) return false;
  force_at_ = std::min(force_at_, now + kKeeperLimit);
  give_up_output_at_ = now;
  return true;
}

}  // namespace acp::launcher
