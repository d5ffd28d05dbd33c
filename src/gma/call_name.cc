// The name of the public function that each thread is in. Set by the public
// functions, read by WaitRecord and by the engine for the lines of failed
// operations. May not allocate or block.
#include "gma/call_name.h"

namespace acp::gma {

namespace {

thread_local constinit const char* t_name
    __attribute__((tls_model("initial-exec"))) = nullptr;

}  // namespace

const char* call_name() noexcept {
  return t_name;
}

const char* enter_call(const char* name) noexcept {
  const char* before = t_name;
  if (before == nullptr) {
    t_name = name;
  }
  return before;
}

void leave_call(const char* before) noexcept {
  t_name = before;
}

}  // namespace acp::gma
