// Failures of the calling thread: a status and a text, and one line to stderr
// by whoever finds the cause.
#pragma once

#include <string>

#include "qmp.h"

namespace qmp {

struct Failure {
  QMP_status_t status = QMP_SUCCESS;
  std::string text;
};

/// The calling thread's last failure.
Failure& last_failure();

/// Keeps status and text for the thread, prints a line, returns the status.
[[gnu::format(printf, 2, 3)]] QMP_status_t fail(QMP_status_t status,
                                                const char* format,
                                                ...);

/// The same for a function that returns a pointer: nullptr.
template <typename... Words>
std::nullptr_t fail_null(QMP_status_t status,
                         const char* format,
                         Words... words) {
  (void)fail(status, format, words...);
  return nullptr;
}

}  // namespace qmp
