#include "base/log.h"

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

namespace acp {

namespace {

std::atomic<LogLevel> g_level{LogLevel::kWarning};
std::mutex g_prefix_mutex;  // guards g_prefix
std::string g_prefix;       // NOLINT(*-global-*): shown by every line

const char* level_name(LogLevel level) noexcept {
  static constexpr std::array<const char*, 5> kNames = {
      "error", "warning", "info", "debug", "trace"};
  return kNames[static_cast<std::size_t>(level)];
}

}  // namespace

void set_log_prefix(std::string_view prefix) {
  const std::lock_guard lock(g_prefix_mutex);
  g_prefix = prefix;
}

void set_log_level(LogLevel level) noexcept {
  g_level.store(level, std::memory_order_relaxed);
}

bool log_enabled(LogLevel level) noexcept {
  return level <= g_level.load(std::memory_order_relaxed);
}

void log_line(LogLevel level, std::string_view text) noexcept {
  const int saved_errno = errno;
  std::string line = "acp: ";
  {
    const std::lock_guard lock(g_prefix_mutex);
    if (!g_prefix.empty()) {
      line += g_prefix;
      line += ": ";
    }
  }
  line += level_name(level);
  line += ": ";
  line += text;
  line += '\n';
  // Nobody can be told that stderr is gone.
  [[maybe_unused]] const ssize_t n =
      ::write(STDERR_FILENO, line.data(), line.size());
  errno = saved_errno;
}

const char* errno_text(int error) noexcept {
  thread_local std::array<char, 128> buffer;
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
