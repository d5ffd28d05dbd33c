// The name of the function that a thread of the program is in, for people.
//
// Layers above ACP, and functions of ACP that call others of ACP, set it with
// acpx_enter_call. A wait publishes it in the host segment, where acprun reads
// it when the job ends badly. Each thread has its own.
#pragma once

namespace acp::gma {

/// nullptr: no name is set. The caller of enter_call() says how long it lives.
const char* call_name() noexcept;

/// Sets `name` unless a name is set: the program has called the outermost
/// function. Returns the name before the call.
const char* enter_call(const char* name) noexcept;

/// Sets the name back to `before`, which enter_call() had returned.
void leave_call(const char* before) noexcept;

/// A function of ACP that calls others.
class CallScope {
 public:
  explicit CallScope(const char* name) noexcept : before_(enter_call(name)) {}

  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

  ~CallScope() { leave_call(before_); }

 private:
  const char* before_;
};

}  // namespace acp::gma
