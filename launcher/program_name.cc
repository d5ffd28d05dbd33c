// Keeps the name of the running launcher. Set by main before anything else
// runs, and read by all that makes messages.
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
}

}  // namespace acp::launcher
