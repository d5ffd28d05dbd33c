#include "api/forked_child.h"

#include <pthread.h>
#include <unistd.h>

#include "api/current_task.h"
#include "base/log.h"
#include "middle/modules.h"

namespace acp::api {

namespace {

/// Written in a child before it has a second thread.
bool g_is_forked_child = false;

/// A refusal writes a line. Another thread may be writing one at this moment,
/// and its lock would stay locked in the child for ever.
void before_fork() {
  lock_log();
}

void after_fork_in_parent() {
  unlock_log();
}

/// Takes no lock but the log's, since any other may have been locked by a
/// thread that the child does not have. Ends nothing either: what the task
/// holds is the parent's, and the destructors of a task would use it.
void after_fork_in_child() {
  unlock_log_in_child();
  if (g_settings.load(std::memory_order_relaxed) == nullptr) {
    return;  // before acp_init or after acp_finalize
  }
  if (const runtime::Task* parents = task(); parents != nullptr) {
    set_log_prefix(fmt::format("process {}, a child made by fork() of rank {}",
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
