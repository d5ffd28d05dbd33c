// The log of a module. Its lines go through the log of the program that loaded
// the module. So all lines have one prefix, one limit and one error action.
#pragma once

#include <string_view>

#include "base/log.h"

namespace acp {

/// The type of log_line().
using LogLine = void (*)(LogLevel level, std::string_view text) noexcept;

/// From now on log_line() of this module calls `line`, and log_enabled()
/// answers for `level`. settings/module.h calls it in a module that is loaded.
void forward_log(LogLevel level, LogLine line) noexcept;

/// The level that set_log_level() has set.
LogLevel log_level() noexcept;

}  // namespace acp
