// Failures of the calling thread: a status and a text, and one line to stderr
// by whoever finds the cause.
#pragma once

#include <span>
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

/// A line to stderr, when QMP_verbose asked for it.
[[gnu::format(printf, 1, 2)]] void tell(const char* format, ...);

/// Whether fail() ends the job, after its line: as the setting ACP_ERRORS says.
void end_job_on_failure(bool ends);

/// What QMP_verbose has set. Returns the level before.
int set_verbosity(int level);

/// "4 4 8": numbers as in a command line.
std::string text_of(std::span<const int> numbers);

/// The same for a function that returns a pointer: nullptr.
template <typename... Words>
std::nullptr_t fail_null(QMP_status_t status,
                         const char* format,
                         Words... words) {
  (void)fail(status, format, words...);
  return nullptr;
}

}  // namespace qmp
