// Counts errors for the launcher's last line, and ends the job after an error
// line, as ACP_ERRORS=abort asks. acp_init and early_log.cc set the action, and
// the log calls it, in any thread.
#include "api/error_action.h"

#include <unistd.h>

#include <atomic>
#include <string>

#include "api/call_site.h"
#include "api/current_task.h"
#include "api/forked_child.h"
#include "base/log.h"
#include "runtime/standard_output.h"

namespace acp::api {

namespace {

std::atomic<bool> g_ends_job{false};

[[noreturn]] void end_job_after_error(std::string_view text) {
  if (const std::string site = call_site(); !site.empty()) {
    log_last_words("error: the call stands in " + site);
  }
  if (runtime::Task* mine = task()) {
    mine->abort_after_error(text);
  }
  runtime::flush_output();
  deliver_log(kLastLinesLimit);
  ::_exit(1);  // There is no task; the launcher ends the other ranks.
}

void act_on_error(std::string_view text) noexcept {
  if (is_forked_child()) {
    return;  // The job of the child's parent goes on.
  }
  if (runtime::Task* mine = task()) {
    mine->tell_errors();
  }
  if (g_ends_job.load(std::memory_order_relaxed)) {
    end_job_after_error(text);
  }
}

}  // namespace

void follow_errors(std::string_view value) {
  g_ends_job.store(value == "abort", std::memory_order_relaxed);
  set_error_action(act_on_error);
}

}  // namespace acp::api
