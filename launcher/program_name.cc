// Keeps the name of the running launcher. Main sets it before anything else
// runs, and all that makes messages reads it. It may not change later: nothing
// guards it.
#include "launcher/program_name.h"

#include "base/log.h"

namespace acp::launcher {

namespace {

std::string_view name_of_program = "acprun";

}  // namespace

std::string_view program_name() noexcept {
  return name_of_program;
}

void set_program_name(std::string_view name) {
  name_of_program = name;
  set_log_prefix(name);
  // When the job is over, a reader that takes nothing may not keep a launcher.
  set_log_exit_limit(kLastLinesLimit);
}

}  // namespace acp::launcher
