// Formats log lines, limits equal ones, and passes them to LogOutput. Any
// thread may call it, also with the engine's mutex held. It takes a mutex, so a
// child may use it between fork and exec only after keep_log_in_children().
#include "base/log.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <string>

#include "base/assert.h"
#include "base/clock.h"
#include "base/immortal.h"
#include "base/log_forward.h"
#include "base/log_output.h"
#include "base/memory_reserve.h"
#include "base/printable.h"
#include "base/repeat_limit.h"

namespace acp {

namespace {

std::atomic<LogLevel> g_level{LogLevel::kWarning};
std::atomic<ErrorAction> g_error_action{nullptr};
std::atomic<std::uint32_t> g_errors{0};
/// A thread is in the error action. No thread-local variable, because modules
/// have this file, too, and static TLS is scarce where they are loaded late.
std::atomic<bool> g_is_in_action{false};
std::atomic<LogLine> g_forward{nullptr};  // in a module: the program's log
/// The thread that has an ErrorsAs, and its level; 0: no thread has.
std::atomic<pthread_t> g_quiet_thread{0};
std::atomic<LogLevel> g_quiet_level{LogLevel::kError};
std::atomic<Duration> g_exit_limit{Duration::max()};
std::mutex g_mutex;  // guards the next, and the order of lines
// NOLINTBEGIN(*-global-*): a process has one stderr
Immortal<RepeatLimit> g_limit;
Immortal<LogOutput> g_output;

// NOLINTEND(*-global-*)

const char* level_name(LogLevel level) noexcept {
  static constexpr std::array<const char*, 5> kNames = {
      "error", "warning", "info", "debug", "trace"};
  return kNames[static_cast<std::size_t>(level)];
}

/// The text may have words from outside: a host's name, a launcher's answer. An
/// ordinary text takes no memory.
void put_line(std::string_view kind, std::string_view text) noexcept {
  if (is_printable(text)) {
    g_output->put(kind, text);
    return;
  }
  try {
    g_output->put(kind, printable(text));
  } catch (const std::bad_alloc&) {
    g_output->put(kind, "a text with control characters; out of memory");
  }
}

void report_held(std::string_view text, std::uint64_t count) {
  put_line(fmt::format("{} more times", count), text);
}

/// Lets a line through that cannot be remembered for lack of memory.
bool is_admitted(std::string_view text) noexcept {
  // An allocation that ended the job here would find the mutex locked.
  const MayFail may_fail;
  try {
    return g_limit->admit(text, SteadyClock().now(), report_held);
  } catch (const std::bad_alloc&) {
    return true;
  }
}

void before_fork() {
  g_mutex.lock();
  g_output->lock();
}

void after_fork() {
  g_output->unlock();
  g_mutex.unlock();
}

void after_fork_in_child() {
  *g_limit = RepeatLimit();
  g_output->unlock_in_child();
  g_mutex.unlock();
}

/// exit() runs it after the functions of atexit() and after the destructors of
/// static objects, which may log.
[[gnu::destructor]] void deliver_at_exit() {
  deliver_log(g_exit_limit.load(std::memory_order_relaxed));
}

}  // namespace

void set_log_prefix(std::string_view prefix) {
  const std::lock_guard lock(g_mutex);
  g_output->set_head(
      prefix.empty() ? "acp: " : fmt::format("acp: {}: ", printable(prefix)));
}

void keep_log_in_children() noexcept {
  [[maybe_unused]] static const int result =
      ::pthread_atfork(&before_fork, &after_fork, &after_fork_in_child);
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
  if (level == LogLevel::kError) {
    g_errors.fetch_add(1, std::memory_order_relaxed);
  }
  {
    keep_log_in_children();
    const std::lock_guard lock(g_mutex);
    if (is_admitted(text)) {
      put_line(level_name(level), text);
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

void log_formatted(LogLevel level,
                   fmt::string_view format,
                   fmt::format_args args) noexcept {
  std::array<char, 1000> text{};
  const auto formatted =
      fmt::vformat_to_n(text.data(), text.size(), format, args);
  if (formatted.size > text.size()) {
    try {
      log_line(level, fmt::vformat(format, args));
      return;
    } catch (const std::bad_alloc&) {  // The line is truncated.
    }
  }
  log_line(level, {text.data(), std::min(formatted.size, text.size())});
}

void log_last_words(std::string_view text) noexcept {
  // Without the mutex, which the thread may hold: it may have no memory left.
  keep_log_in_children();
  g_output->put("", text);
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

void deliver_log(Duration limit) noexcept {
  (void)g_output->deliver(limit);
}

void set_log_exit_limit(Duration limit) noexcept {
  g_exit_limit.store(limit, std::memory_order_relaxed);
}

void set_error_action(ErrorAction action) noexcept {
  g_error_action.store(action, std::memory_order_relaxed);
}

std::uint32_t logged_errors() noexcept {
  return g_errors.load(std::memory_order_relaxed);
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
  std::array<char, 500> text{};
  const auto formatted =
      fmt::format_to_n(text.data(), text.size(),
                       "internal error: {} does not hold ({}:{}); this is a "
                       "bug in the library",
                       condition, file, line);
  log_last_words({text.data(), std::min(formatted.size, text.size())});
  deliver_log(kLastLinesLimit);
  std::abort();
}

}  // namespace acp
