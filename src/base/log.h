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

/// Around fork(): no other thread is inside log_line() or set_log_prefix(), so
/// the child can use both.
void lock_log();
void unlock_log();
/// Unlocks the log in the child, which forgets what its parent held back.
void unlock_log_in_child();

void set_log_level(LogLevel level) noexcept;
bool log_enabled(LogLevel level) noexcept;

/// Writes "acp: PREFIX: LEVEL: text\n" in one write(2), so lines of several
/// ranks never mix. Of equal lines at most RepeatLimit::kLinesASecond appear in
/// a second; a line that says how many more there were follows with the next
/// line, or with log_held_lines(). Thread-safe. Does not touch errno.
void log_line(LogLevel level, std::string_view text) noexcept;

/// Says how often each line was held back so far; before the process ends.
void log_held_lines() noexcept;

/// Called after each line of level error, held back or not, with its text.
using ErrorAction = void (*)(std::string_view text) noexcept;

/// Null, at first: a line is all that an error brings. Thread-safe.
void set_error_action(ErrorAction action) noexcept;

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
