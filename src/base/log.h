// One line on stderr for what a user has to know.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string_view>

namespace acp {

/// Order matters: a level shows itself and those before it.
enum class LogLevel : std::uint8_t { kError, kWarning, kInfo, kDebug, kTrace };

/// Who speaks, set by acp_init ("rank 3 on node7") and by the tools
/// ("acprun"). Thread-safe against log_line, not against itself.
void set_log_prefix(std::string_view prefix);
void set_log_level(LogLevel level) noexcept;
bool log_enabled(LogLevel level) noexcept;

/// Writes "acp: PREFIX: LEVEL: text\n" in one write(2), so lines of several
/// ranks never mix. Thread-safe. Does not touch errno.
void log_line(LogLevel level, std::string_view text) noexcept;

/// The text of an errno value, thread-safe.
const char* errno_text(int error) noexcept;

template <typename... Args>
void log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled(level)) {
    log_line(level, fmt::format(format, std::forward<Args>(args)...));
  }
}

template <typename... Args>
void log_error(fmt::format_string<Args...> format, Args&&... args) {
  log(LogLevel::kError, format, std::forward<Args>(args)...);
}

template <typename... Args>
void log_warning(fmt::format_string<Args...> format, Args&&... args) {
  log(LogLevel::kWarning, format, std::forward<Args>(args)...);
}

}  // namespace acp
