// The flag of a thread that runs progress steps. Set by Steps, and by waits
// that run no steps; asked before a thread would wait.
#include "gma/progress_step_scope.h"

namespace acp::gma {

namespace {

thread_local bool g_is_inside_step = false;

}  // namespace

bool is_inside_progress_step() noexcept {
  return g_is_inside_step;
}

ProgressStepScope::ProgressStepScope() noexcept
    : was_inside_(g_is_inside_step) {
  g_is_inside_step = true;
}

ProgressStepScope::~ProgressStepScope() {
  g_is_inside_step = was_inside_;
}

}  // namespace acp::gma
