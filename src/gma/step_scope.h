// Whether this thread is inside a progress step: there, nothing may wait.
#pragma once

namespace acp::gma {

bool is_inside_step() noexcept;

/// Sets the flag of the thread for the scope's life; may be nested.
class StepScope {
 public:
  StepScope() noexcept;
  StepScope(const StepScope&) = delete;
  StepScope& operator=(const StepScope&) = delete;
  ~StepScope();

 private:
  bool was_inside_;
};

}  // namespace acp::gma
