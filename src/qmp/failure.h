// Failures of QMP: status and text for the calling thread, and one line on
// stderr. The function that finds a cause reports it; its callers pass the
// status up.
//
// src/compat/lqcd has a last failure of its own. A program asks each of the two
// libraries for the failure of its own calls. libqmp shows public functions
// alone, so liblqcd cannot use this one.
#pragma once

#include <span>
#include <string>

#include "qmp.h"

namespace qmp {

struct Failure {
  QMP_status_t status = QMP_SUCCESS;
  std::string text;
};

/// The last failure of the calling thread.
Failure& last_failure();

/// Keeps status and text for the thread, prints a line, and returns the status.
[[gnu::format(printf, 2, 3)]] QMP_status_t fail(QMP_status_t status,
                                                const char* format,
                                                ...);

/// Prints a line on stderr if QMP_verbose has asked for it.
[[gnu::format(printf, 1, 2)]] void tell(const char* format, ...);

/// Sets whether fail() ends the job after its line. Before the first call the
/// environment decides: ACP_ERRORS=abort.
void end_job_on_failure(bool ends);

/// Sets the level of QMP_verbose, and returns the level before.
int set_verbosity(int level);

/// Numbers as on a command line: "4 4 8".
std::string text_of(std::span<const int> numbers);

/// Calls fail() and returns nullptr, for functions that return a pointer.
template <typename... Words>
std::nullptr_t fail_null(QMP_status_t status,
                         const char* format,
                         Words... words) {
  (void)fail(status, format, words...);
  return nullptr;
}

}  // namespace qmp
