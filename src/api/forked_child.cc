// Registers the handlers of pthread_atfork. They run in every fork() of the
// program after acp_init, and may take no lock but those of the log.
#include "api/forked_child.h"

#include <pthread.h>
#include <unistd.h>

#include "api/current_task.h"
#include "base/log.h"
#include "middle/modules.h"

namespace acp::api {

namespace {

/// The handler in the child writes it, while the child has one thread.
bool g_is_forked_child = false;

/// Locks the log before the fork. Otherwise another thread could hold its lock
/// at that moment, and the lock would stay locked in the child for ever. The
/// line that refuses a call there would then block.
void before_fork() {
  lock_log();
}

void after_fork_in_parent() {
  unlock_log();
}

/// Runs in the child. It takes no lock but the log's, because a thread that the
/// child does not have may hold any other. It destroys nothing, because the
/// destructors of the task would use sockets and memory of the parent's job.
void after_fork_in_child() {
  unlock_log_in_child();
  if (g_settings.load(std::memory_order_relaxed) == nullptr) {
    return;  // The parent was not between acp_init and acp_finalize.
  }
  if (const runtime::Task* parents = task(); parents != nullptr) {
    set_log_prefix(fmt::format("pid {}, a child made by fork() of rank {}",
                               ::getpid(), parents->rank()));
  }
  g_is_forked_child = true;
  g_is_running.store(false, std::memory_order_relaxed);
  g_settings.store(nullptr, std::memory_order_relaxed);
  middle::leave_job();
}

}  // namespace

void watch_forks() noexcept {
  static int result = ::pthread_atfork(&before_fork, &after_fork_in_parent,
                                       &after_fork_in_child);
  if (result != 0) {
    log_warning("pthread_atfork: {}; a child made by fork() must not call ACP",
                errno_text(result));
  }
}

bool is_forked_child() noexcept {
  return g_is_forked_child;
}

}  // namespace acp::api
