// Messages to the user: one line on stderr each.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <string_view>
#include <utility>

#include "base/clock.h"

namespace acp {

/// A log level shows its own messages and those of the levels before it.
enum class LogLevel : std::uint8_t { kError, kWarning, kInfo, kDebug, kTrace };

/// Sets the name of the speaker in each line, such as the name of the program.
/// Thread-safe.
void set_log_prefix(std::string_view prefix);

/// From now on a child made by fork() can use the log, whatever other threads
/// do with it during the fork. The child forgets the lines that its parent has
/// held back or not yet delivered. A function with pthread_atfork() handlers
/// that log calls this one first. Thread-safe.
void keep_log_in_children() noexcept;

void set_log_level(LogLevel level) noexcept;
bool log_enabled(LogLevel level) noexcept;

/// Writes "acp: PREFIX: LEVEL: text\n" in one write(2), so lines of several
/// processes never mix. At most RepeatLimit::kLinesASecond equal lines appear
/// in a second; the next line, or log_held_lines(), reports how many more there
/// were. Never blocks on standard error: LogOutput keeps lines for a slow
/// reader. Thread-safe. Preserves errno.
void log_line(LogLevel level, std::string_view text) noexcept;

/// Writes "acp: PREFIX: text\n", whatever the level is: the words with which a
/// process ends its job. Thread-safe. Never blocks.
void log_last_words(std::string_view text) noexcept;

/// Reports how often each line was held back. Call it before the process ends.
void log_held_lines() noexcept;

/// Time for the lines of a process that ends its job, when the reader of its
/// standard error does not read.
inline constexpr Duration kLastLinesLimit = std::chrono::milliseconds(500);

/// Waits until standard error has taken all lines, at most `limit`. Call it
/// before _exit() and abort(); exit() waits by itself.
void deliver_log(Duration limit) noexcept;

/// Sets how long exit() waits for lines that standard error has not taken. The
/// default is for ever, as C does for its stdout: nothing is lost.
void set_log_exit_limit(Duration limit) noexcept;

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

/// The number of errors so far, also of those whose lines were held back.
std::uint32_t logged_errors() noexcept;

/// The text of an errno value, thread-safe.
const char* errno_text(int error) noexcept;

/// log_line() with a text that it formats. Needs no memory for a text of up to
/// 1,000 bytes; a longer one is truncated when there is no memory.
void log_formatted(LogLevel level,
                   fmt::string_view format,
                   fmt::format_args args) noexcept;

template <typename... Args>
void log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled(level)) {
    log_formatted(level, format, fmt::make_format_args(args...));
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
