// The name of the function that a thread of the program is in, for people.
//
// Layers above ACP, and functions of ACP that call others of ACP, set it with
// acpx_enter_call; a wait publishes it in the host segment, where acprun reads
// it when the job ends badly. Each thread has its own.
#pragma once

namespace acp::gma {

/// nullptr: none is set. Lives as long as whoever set it says.
const char* call_name() noexcept;

/// Sets `name` unless there is one: the outermost function is the one that the
/// program called. Returns what was set before.
const char* enter_call(const char* name) noexcept;

/// Ends what enter_call() began, which had returned `before`.
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
