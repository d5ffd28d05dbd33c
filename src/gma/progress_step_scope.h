// Whether this thread is inside a progress step: there, nothing may wait.
#pragma once

namespace acp::gma {

bool is_inside_progress_step() noexcept;

/// Sets the flag of the thread for the scope's life; may be nested.
class ProgressStepScope {
 public:
  ProgressStepScope() noexcept;
  ProgressStepScope(const ProgressStepScope&) = delete;
  ProgressStepScope& operator=(const ProgressStepScope&) = delete;
  ~ProgressStepScope();

 private:
  bool was_inside_;
};

}  // namespace acp::gma
