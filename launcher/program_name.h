// The name under which a launcher speaks to its user.
#pragma once

#include <string_view>

namespace acp::launcher {

/// "acprun" unless set.
std::string_view program_name() noexcept;

/// Called once, at the start of main, with a literal. Also sets the prefix of
/// the log.
void set_program_name(std::string_view name);

}  // namespace acp::launcher
