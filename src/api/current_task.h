// The one global of the library: the task of this process.
#pragma once

#include <atomic>

#include "runtime/task.h"

namespace acp::api {

/// Room for the task, in static memory: the shortest calls then read what they
/// need at fixed addresses, without a pointer to wait for.
union TaskRoom {
  constexpr TaskRoom() noexcept : empty() {}

  TaskRoom(const TaskRoom&) = delete;
  TaskRoom& operator=(const TaskRoom&) = delete;

  // NOLINTNEXTLINE(modernize-use-equals-default): the member has a destructor
  ~TaskRoom() {}  // a process may end without acp_finalize

  char empty;
  runtime::Task task;
};

extern TaskRoom g_room;
extern std::atomic<bool> g_is_running;  ///< The room has a task.

/// From the start of acp_init, before there is a task, to acp_finalize.
extern std::atomic<const Settings*> g_settings;

/// Null before acp_init and after acp_finalize.
inline runtime::Task* task() noexcept {
  return g_is_running.load(std::memory_order_acquire) ? &g_room.task : nullptr;
}

inline gma::Engine* engine() noexcept {
  runtime::Task* mine = task();
  return mine == nullptr ? nullptr : &mine->engine();
}

/// The calling thread's acp_errno.
int& error_number() noexcept;

/// With ACP_ERRORS=abort ends the process of a call that fails because the job
/// is ending: the program may go on with data that never came.
void leave_ending_job() noexcept;

/// Sets acp_errno.
inline void fail(Status status) noexcept {
  error_number() = static_cast<int>(status);
  if (__builtin_expect(status == Status::kAborted, 0)) {
    leave_ending_job();
  }
}

/// The handle, or the null handle and acp_errno.
inline gma::Handle as_handle(const Result<gma::Handle>& result) noexcept {
  if (!result.ok()) {
    fail(result.status());
    return gma::kHandleNull;
  }
  return result.value();
}

/// Sets acp_errno for a call without a task, too early or too late, and logs
/// it. `function` is for people; the caller's name by itself.
void fail_without_task(const char* function = __builtin_FUNCTION()) noexcept;

/// What acp_init has seen before: a second life is not possible.
bool is_finalized() noexcept;

}  // namespace acp::api
