// Registers the handler of pthread_atfork for the child. It runs in every
// fork() of the program after acp_init, and may take no lock but that of the
// log.
#include "api/forked_child.h"

#include <pthread.h>
#include <unistd.h>

#include <cerrno>

#include "api/current_task.h"
#include "api/inline_job.h"
#include "api/life.h"
#include "base/log.h"
#include "middle/modules.h"

namespace acp::api {

namespace {

/// The handler in the child writes it, while the child has one thread.
bool g_is_forked_child = false;

/// Runs in the child. It takes no lock but the log's, because a thread that the
/// child does not have may hold any other. It destroys nothing, because the
/// destructors of the task would use sockets and memory of the parent's job.
void after_fork_in_child() {
  if (!leave_held_memory()) {
    log_warning(
        "pid {}, a child made by fork(): mapping the job's memory privately: "
        "{}; what this child writes into that memory, its parent sees",
        ::getpid(), errno_text(errno));
  }
  if (g_settings.load(std::memory_order_relaxed) == nullptr) {
    return;  // The parent was not between acp_init and acp_finalize.
  }
  if (const runtime::Task* parents = task(); parents != nullptr) {
    set_log_prefix(fmt::format("pid {}, a child made by fork() of rank {}",
                               ::getpid(), parents->rank()));
  }
  g_is_forked_child = true;
  g_is_running.store(false, std::memory_order_relaxed);
  g_is_uncounted.store(false, std::memory_order_relaxed);
  stop_inlined_calls();
  g_settings.store(nullptr, std::memory_order_relaxed);
  middle::leave_job();
}

}  // namespace

void watch_forks() noexcept {
  keep_log_in_children();  // Its handler in the child has to run first.
  static int result = ::pthread_atfork(nullptr, nullptr, &after_fork_in_child);
  if (result != 0) {
    log_warning("pthread_atfork: {}; a child made by fork() must not call ACP",
                errno_text(result));
  }
}

bool is_forked_child() noexcept {
  return g_is_forked_child;
}

}  // namespace acp::api
