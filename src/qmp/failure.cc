#include "qmp/failure.h"

#include <array>
#include <cstdarg>
#include <cstdio>

namespace qmp {

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

}  // namespace qmp
