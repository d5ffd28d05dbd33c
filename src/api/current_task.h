// The one global of the library: the task of this process.
#pragma once

#include <atomic>

#include "runtime/task.h"

namespace acp::api {

/// Null before acp_init and after acp_finalize.
extern std::atomic<runtime::Task*> g_task;

/// The task's engine, one step nearer for the calls that count nanoseconds.
extern std::atomic<gma::Engine*> g_engine;

/// From the start of acp_init, before there is a task, to acp_finalize.
extern std::atomic<const Settings*> g_settings;

inline gma::Engine* engine() noexcept {
  return g_engine.load(std::memory_order_acquire);
}

inline runtime::Task* task() noexcept {
  return g_task.load(std::memory_order_acquire);
}

/// The calling thread's acp_errno.
int& error_number() noexcept;

/// Sets acp_errno.
inline void fail(Status status) noexcept {
  error_number() = static_cast<int>(status);
}

/// Sets acp_errno for a call without a task, too early or too late, and logs
/// it. `function` is for people; the caller's name by itself.
void fail_without_task(const char* function = __builtin_FUNCTION()) noexcept;

/// What acp_init has seen before: a second life is not possible.
bool is_finalized() noexcept;

}  // namespace acp::api
