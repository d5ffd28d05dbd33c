// Writes one line to stderr, through the public acpx_log.
#pragma once

#include <fmt/core.h>

#include <utility>

#include "acp/extension.h"

namespace acp::middle {

template <typename... Args>
void log_error(fmt::format_string<Args...> format, Args&&... args) {
  acpx_log(ACPX_LOG_ERROR,
           fmt::format(format, std::forward<Args>(args)...).c_str());
}

template <typename... Args>
void log_warning(fmt::format_string<Args...> format, Args&&... args) {
  acpx_log(ACPX_LOG_WARNING,
           fmt::format(format, std::forward<Args>(args)...).c_str());
}

}  // namespace acp::middle
