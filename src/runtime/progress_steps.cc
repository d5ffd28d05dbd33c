// The list of progress steps. Called by Progress; the steps themselves belong
// to the middle layer, to QMP and to programs. Two threads may not run the
// steps at the same time, and no step may run inside another.
#include "runtime/progress_steps.h"

#include <algorithm>

#include "acp/extension.h"
#include "base/memory_reserve.h"
#include "gma/progress_step_scope.h"

namespace acp::runtime {

Status ProgressSteps::add(Function function, void* argument) {
  if (function == nullptr) {
    return Status::kInvalidArgument;
  }
  if (gma::is_inside_progress_step()) {
    return add_locked(function, argument);  // this thread holds the mutex
  }
  const std::lock_guard lock(mutex_);
  return add_locked(function, argument);
}

Status ProgressSteps::remove(Function function, void* argument) {
  if (gma::is_inside_progress_step()) {
    return remove_locked(function, argument);
  }
  const std::lock_guard lock(mutex_);
  const Status status = remove_locked(function, argument);
  forget_removed();  // run() returns early when no step is left
  return status;
}

void ProgressSteps::forget_removed() {
  std::erase_if(steps_,
                [](const Entry& step) { return step.function == nullptr; });
}

Status ProgressSteps::add_locked(Function function, void* argument) {
  for (const Entry& step : steps_) {
    if (step.function == function && step.argument == argument) {
      return Status::kInvalidArgument;
    }
  }
  steps_.push_back({function, argument});
  count_.fetch_add(1, std::memory_order_seq_cst);
  added_.fetch_add(1, std::memory_order_seq_cst);
  return Status::kOk;
}

Status ProgressSteps::remove_locked(Function function, void* argument) {
  for (Entry& step : steps_) {
    if (step.function == function && step.argument == argument &&
        function != nullptr) {
      step.function = nullptr;
      count_.fetch_sub(1, std::memory_order_seq_cst);
      return Status::kOk;
    }
  }
  return Status::kInvalidArgument;
}

ProgressSteps::Outcome ProgressSteps::run() {
  if (is_empty() || gma::is_inside_progress_step()) {
    return Outcome::kIdle;
  }
  const std::unique_lock lock(mutex_, std::try_to_lock);
  return lock.owns_lock() ? run_locked() : Outcome::kBusy;
}

ProgressSteps::Outcome ProgressSteps::run_last() {
  if (is_empty() || gma::is_inside_progress_step()) {
    return Outcome::kIdle;
  }
  const std::lock_guard lock(mutex_);
  return run_locked();
}

/// A step that is removed inside a run stays in the list without its function
/// until the run is over.
ProgressSteps::Outcome ProgressSteps::run_locked() {
  const MustNotFail must_not_fail;  // A step goes on with what calls began.
  const gma::ProgressStepScope scope;
  Outcome outcome = Outcome::kIdle;
  // By index: a step that adds a step may move the list in memory.
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Entry step = steps_[i];
    const int result =
        step.function != nullptr ? step.function(step.argument) : 0;
    if (result != 0) {
      outcome = std::max(
          outcome, result == ACPX_STEP_BUSY ? Outcome::kBusy : Outcome::kMoved);
    }
  }
  forget_removed();
  return outcome;
}

}  // namespace acp::runtime
