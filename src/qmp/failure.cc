// Keeps and prints failures. All parts of QMP call it, from any thread, also
// before init and after finalize. It takes no lock of QMP, so callers may hold
// any.
#include "qmp/failure.h"

#include <array>
#include <atomic>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "acp.h"
#include "inbox/reserved_call.h"

namespace qmp {

namespace {

std::atomic<int> g_verbosity{0};

/// Whether a failure ends the job.
enum class OnFailure : std::uint8_t { kAsEnvironment, kReport, kAbort };

/// Until QMP_init_msg_passing has the setting ACP_ERRORS, the environment
/// decides. Written by end_job_on_failure(), read by failures of any thread.
std::atomic<OnFailure> g_on_failure{OnFailure::kAsEnvironment};

bool ends_job() {
  // Relaxed: no other data depends on it.
  const OnFailure set = g_on_failure.load(std::memory_order_relaxed);
  if (set != OnFailure::kAsEnvironment) {
    return set == OnFailure::kAbort;
  }
  const char* errors = std::getenv("ACP_ERRORS");
  return errors != nullptr && std::string_view(errors) == "abort";
}

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
  const inbox::ReservedCall call;  // A failure for want of memory has a text.
  std::va_list words;
  va_start(words, format);
  last_failure() = {status, formatted(format, words)};
  va_end(words);
  (void)QMP_error("%s", last_failure().text.c_str());
  if (ends_job()) {
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
  g_on_failure.store(ends ? OnFailure::kAbort : OnFailure::kReport,
                     std::memory_order_relaxed);
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
