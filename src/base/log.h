// Messages to the user: one line on stderr each.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <string_view>

namespace acp {

/// A log level shows its own messages and those of the levels before it.
enum class LogLevel : std::uint8_t { kError, kWarning, kInfo, kDebug, kTrace };

/// Sets the name of the speaker in each line, such as the name of the program.
/// Thread-safe.
void set_log_prefix(std::string_view prefix);

/// The handlers of fork() call these, so that no other thread is inside
/// log_line() or set_log_prefix() during the fork and the child can use both.
void lock_log();
void unlock_log();
/// Unlocks the log in the child, and forgets the lines that the parent held
/// back.
void unlock_log_in_child();

void set_log_level(LogLevel level) noexcept;
bool log_enabled(LogLevel level) noexcept;

/// Writes "acp: PREFIX: LEVEL: text\n" in one write(2), so lines of several
/// processes never mix. At most RepeatLimit::kLinesASecond equal lines appear
/// in a second; the next line, or log_held_lines(), reports how many more there
/// were. Thread-safe. Preserves errno.
void log_line(LogLevel level, std::string_view text) noexcept;

/// Reports how often each line was held back. Call it before the process ends.
void log_held_lines() noexcept;

/// While it lives, errors of this thread are only messages of `level`: another
/// way is tried after a failure. One at a time in a process.
class ErrorsAs {
 public:
  explicit ErrorsAs(LogLevel level) noexcept;
  ErrorsAs(const ErrorsAs&) = delete;
  ErrorsAs& operator=(const ErrorsAs&) = delete;
  ~ErrorsAs();
};

/// The type of a function that is called with the text of each error line, also
/// when the line is held back. Lines that are written while it runs, by any
/// thread, do not call it.
using ErrorAction = void (*)(std::string_view text) noexcept;

/// Sets that function; null, the default, calls none. Thread-safe.
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
