// Formats log lines and writes each with one system call. Any thread may call
// it. It takes a mutex, so a child may use it between fork and exec only after
// unlock_log_in_child().
#include "base/log.h"

#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

#include "base/assert.h"
#include "base/clock.h"
#include "base/immortal.h"
#include "base/log_forward.h"
#include "base/repeat_limit.h"

namespace acp {

namespace {

std::atomic<LogLevel> g_level{LogLevel::kWarning};
std::atomic<ErrorAction> g_error_action{nullptr};
/// A thread is in the error action. No thread-local variable, because modules
/// have this file, too, and static TLS is scarce where they are loaded late.
std::atomic<bool> g_is_in_action{false};
std::atomic<LogLine> g_forward{nullptr};  // in a module: the program's log
/// The thread that has an ErrorsAs, and its level; 0: no thread has.
std::atomic<pthread_t> g_quiet_thread{0};
std::atomic<LogLevel> g_quiet_level{LogLevel::kError};
std::mutex g_mutex;  // guards the next two
// NOLINTBEGIN(*-global-*): shown by every line; a process has one stderr
Immortal<std::string> g_prefix;
Immortal<RepeatLimit> g_limit;

// NOLINTEND(*-global-*)

const char* level_name(LogLevel level) noexcept {
  static constexpr std::array<const char*, 5> kNames = {
      "error", "warning", "info", "debug", "trace"};
  return kNames[static_cast<std::size_t>(level)];
}

/// Writes a line. The caller holds the mutex, which keeps the prefix and the
/// order of lines.
void write_line(std::string_view kind, std::string_view text) {
  std::string line = "acp: ";
  if (!g_prefix->empty()) {
    line += *g_prefix;
    line += ": ";
  }
  line += kind;
  line += ": ";
  line += text;
  line += '\n';
  // The result is ignored: without stderr there is no way to report it.
  [[maybe_unused]] const ssize_t n =
      ::write(STDERR_FILENO, line.data(), line.size());
}

void report_held(std::string_view text, std::uint64_t count) {
  write_line(fmt::format("{} more times", count), text);
}

}  // namespace

void set_log_prefix(std::string_view prefix) {
  const std::lock_guard lock(g_mutex);
  *g_prefix = prefix;
}

void lock_log() {
  g_mutex.lock();
}

void unlock_log() {
  g_mutex.unlock();
}

void unlock_log_in_child() {
  *g_limit = RepeatLimit();
  g_mutex.unlock();
}

void set_log_level(LogLevel level) noexcept {
  g_level.store(level, std::memory_order_relaxed);
}

LogLevel log_level() noexcept {
  return g_level.load(std::memory_order_relaxed);
}

void forward_log(LogLevel level, LogLine line) noexcept {
  g_level.store(level, std::memory_order_relaxed);
  g_forward.store(line, std::memory_order_relaxed);
}

bool log_enabled(LogLevel level) noexcept {
  return level <= g_level.load(std::memory_order_relaxed);
}

/// The lock is dropped before the error action, which may log or end the
/// process. An error inside the action is only a line: an action that ends the
/// job may find that its launcher is gone. errno is kept, because callers log
/// between a failed call and their look at it.
void log_line(LogLevel level, std::string_view text) noexcept {
  if (const LogLine forward = g_forward.load(std::memory_order_relaxed)) {
    forward(level, text);
    return;
  }
  if (level == LogLevel::kError &&
      g_quiet_thread.load(std::memory_order_relaxed) == ::pthread_self()) {
    level = g_quiet_level.load(std::memory_order_relaxed);
    if (!log_enabled(level)) return;
  }
  const int saved_errno = errno;
  {
    const std::lock_guard lock(g_mutex);
    if (g_limit->admit(text, SteadyClock().now(), report_held)) {
      write_line(level_name(level), text);
    }
  }
  const auto action = g_error_action.load(std::memory_order_relaxed);
  if (level == LogLevel::kError && action != nullptr &&
      !g_is_in_action.exchange(true, std::memory_order_acq_rel)) {
    action(text);
    g_is_in_action.store(false, std::memory_order_release);
  }
  errno = saved_errno;
}

ErrorsAs::ErrorsAs(LogLevel level) noexcept {
  g_quiet_level.store(level, std::memory_order_relaxed);
  g_quiet_thread.store(::pthread_self(), std::memory_order_relaxed);
}

ErrorsAs::~ErrorsAs() {
  g_quiet_thread.store(0, std::memory_order_relaxed);
}

void log_held_lines() noexcept {
  const std::lock_guard lock(g_mutex);
  g_limit->report_all(report_held);
}

void set_error_action(ErrorAction action) noexcept {
  g_error_action.store(action, std::memory_order_relaxed);
}

/// The C library has the texts of all errors that it knows. It writes into the
/// buffer only "Unknown error N", in the user's language.
const char* errno_text(int error) noexcept {
  thread_local std::array<char, 64> buffer;
  return ::strerror_r(error, buffer.data(), buffer.size());
}

void assertion_failed(const char* condition,
                      const char* file,
                      int line) noexcept {
  std::fprintf(stderr,
               "acp: internal error: %s does not hold (%s:%d); "
               "this is a bug in the library\n",
               condition, file, line);
  std::abort();
}

}  // namespace acp
