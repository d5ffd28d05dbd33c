#include "qmp/failure.h"

#include <array>
#include <atomic>
#include <cstdarg>
#include <cstdio>

namespace qmp {

namespace {

std::atomic<int> g_verbosity{0};

}  // namespace

Failure& last_failure() {
  thread_local Failure failure;
  return failure;
}

// NOLINTNEXTLINE(cert-dcl50-cpp): as printf, which it ends in
QMP_status_t fail(QMP_status_t status, const char* format, ...) {
  std::array<char, 512> text{};
  std::va_list words;
  va_start(words, format);
  (void)std::vsnprintf(text.data(), text.size(), format, words);
  va_end(words);
  last_failure() = {status, text.data()};
  (void)QMP_error("%s", text.data());
  return status;
}

// NOLINTNEXTLINE(cert-dcl50-cpp): as printf, which it ends in
void tell(const char* format, ...) {
  if (g_verbosity.load(std::memory_order_relaxed) < 1) {
    return;
  }
  std::array<char, 512> text{};
  std::va_list words;
  va_start(words, format);
  (void)std::vsnprintf(text.data(), text.size(), format, words);
  va_end(words);
  (void)QMP_fprintf(stderr, "%s", text.data());
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
