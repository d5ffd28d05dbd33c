// Keeps and prints failures. All parts of QMP call it, from any thread, also
// before init and after finalize. It takes no lock of QMP, so callers may hold
// any.
#include "qmp/failure.h"

#include <array>
#include <atomic>
#include <cstdarg>
#include <cstdio>

#include "acp.h"

namespace qmp {

namespace {

std::atomic<int> g_verbosity{0};
std::atomic<bool> g_ends_job{false};

/// The formatted text, truncated after 511 characters.
std::string formatted(const char* format, std::va_list words) {
  std::array<char, 512> text{};
  (void)std::vsnprintf(text.data(), text.size(), format, words);
  return text.data();
}

}  // namespace

Failure& last_failure() {
  thread_local Failure failure;
  return failure;
}

// NOLINTNEXTLINE(cert-dcl50-cpp): as printf, which it ends in
QMP_status_t fail(QMP_status_t status, const char* format, ...) {
  std::va_list words;
  va_start(words, format);
  last_failure() = {status, formatted(format, words)};
  va_end(words);
  (void)QMP_error("%s", last_failure().text.c_str());
  if (g_ends_job.load(std::memory_order_relaxed)) {
    acp_abort(last_failure().text.c_str());
  }
  return status;
}

// NOLINTNEXTLINE(cert-dcl50-cpp): as printf, which it ends in
void tell(const char* format, ...) {
  if (g_verbosity.load(std::memory_order_relaxed) < 1) {
    return;
  }
  std::va_list words;
  va_start(words, format);
  const std::string text = formatted(format, words);
  va_end(words);
  (void)QMP_fprintf(stderr, "%s", text.c_str());
}

void end_job_on_failure(bool ends) {
  g_ends_job.store(ends, std::memory_order_relaxed);
}

int set_verbosity(int level) {
  return g_verbosity.exchange(level);
}

std::string text_of(std::span<const int> numbers) {
  std::string text;
  for (const int number : numbers) {
    text += (text.empty() ? "" : " ") + std::to_string(number);
  }
  return text;
}

}  // namespace qmp
