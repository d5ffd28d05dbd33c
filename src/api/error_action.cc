// Ends the job after an error line, as ACP_ERRORS=abort asks. acp_init and
// early_log.cc set the action, and the log calls it, in any thread.
#include "api/error_action.h"

#include <unistd.h>

#include "api/current_task.h"
#include "api/forked_child.h"
#include "base/log.h"
#include "runtime/standard_output.h"

namespace acp::api {

namespace {

void end_job_after_error(std::string_view text) noexcept {
  if (is_forked_child()) {
    return;  // The job of the child's parent goes on.
  }
  if (runtime::Task* mine = task()) {
    mine->abort_after_error(text);
  }
  runtime::flush_output();
  deliver_log(kLastLinesLimit);
  ::_exit(1);  // There is no task; the launcher ends the other ranks.
}

}  // namespace

void follow_errors(std::string_view value) {
  set_error_action(value == "abort" ? end_job_after_error : nullptr);
}

}  // namespace acp::api
