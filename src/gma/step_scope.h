// Whether this thread is inside a progress step: there, nothing may wait.
#pragma once

namespace acp::gma {

bool is_inside_step() noexcept;

/// Marks the thread for the scope's life.
class StepScope {
 public:
  StepScope() noexcept;
  StepScope(const StepScope&) = delete;
  StepScope& operator=(const StepScope&) = delete;
  ~StepScope();
};

}  // namespace acp::gma
