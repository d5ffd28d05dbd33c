// The task of this process: the only global state of the library. The public
// functions reach everything through task().
#pragma once

#include <atomic>

#include "runtime/task.h"

namespace acp::api {

/// Static memory for the task, so that the shortest calls read its fields at
/// fixed addresses instead of loading a pointer first.
union TaskRoom {
  constexpr TaskRoom() noexcept : empty() {}

  TaskRoom(const TaskRoom&) = delete;
  TaskRoom& operator=(const TaskRoom&) = delete;

  // NOLINTNEXTLINE(modernize-use-equals-default): the member has a destructor
  ~TaskRoom() {}  // A process may end without acp_finalize.

  char empty;
  runtime::Task task;
};

extern TaskRoom g_room;
extern std::atomic<bool> g_is_running;  ///< g_room holds a task.
/// g_room holds a task, and the job counts nothing (ACP_COUNTERS=0). Calls that
/// can be counted read it instead of g_is_running. So a job that counts takes
/// the path of calls without a task, at whose end counted_calls.h is.
extern std::atomic<bool> g_is_uncounted;

/// The settings in force, from the start of acp_init to acp_finalize; null at
/// other times.
extern std::atomic<const Settings*> g_settings;

/// The task; null before acp_init and after acp_finalize.
inline runtime::Task* task() noexcept {
  return g_is_running.load(std::memory_order_acquire) ? &g_room.task : nullptr;
}

/// The task; null also while the job counts.
inline runtime::Task* uncounted_task() noexcept {
  return g_is_uncounted.load(std::memory_order_acquire) ? &g_room.task
                                                        : nullptr;
}

inline gma::Engine* uncounted_engine() noexcept {
  runtime::Task* mine = uncounted_task();
  return mine == nullptr ? nullptr : &mine->engine();
}

inline gma::Engine* engine() noexcept {
  runtime::Task* mine = task();
  return mine == nullptr ? nullptr : &mine->engine();
}

/// Returns acp_errno of the calling thread.
int& error_number() noexcept;

/// True, with acp_errno set and a line written: the system refuses memory with
/// which `function` could certainly end what it begins. Functions that need
/// memory, and change something, ask before they do.
bool lacks_memory(const char* function) noexcept;

/// Ends the process when a call has failed because the job is ending and
/// ACP_ERRORS=abort. Otherwise the program could compute with data that never
/// arrived.
void leave_ending_job() noexcept;

/// Sets acp_errno of the calling thread.
inline void fail(Status status) noexcept {
  error_number() = static_cast<int>(status);
  if (__builtin_expect(status == Status::kAborted, 0)) {
    leave_ending_job();
  }
}

/// Returns 0, or -1 after it has set acp_errno.
inline int as_int(Status status) noexcept {
  if (status == Status::kOk) {
    return 0;
  }
  fail(status);
  return -1;
}

/// Returns the handle, or the null handle after it has set acp_errno.
inline gma::Handle as_handle(const Result<gma::Handle>& result) noexcept {
  if (!result.ok()) {
    fail(result.status());
    return gma::kHandleNull;
  }
  return result.value();
}

/// Sets acp_errno for a call before acp_init or after acp_finalize, and logs
/// the error. The message names the function that acpx_enter_call has given, or
/// else `function`.
void fail_without_task(const char* function = __builtin_FUNCTION()) noexcept;

/// Whether acp_finalize has been called; acp_init then fails.
bool is_finalized() noexcept;

}  // namespace acp::api
