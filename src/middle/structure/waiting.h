// How an operation waits for another rank's operation: it looks again and
// again, and pauses longer each time.
#pragma once

#include <chrono>

#include "acp/global_memory.h"

namespace acp::middle::structure {

/// The pause between two looks at the same word. Used by one thread.
class Backoff {
 public:
  /// `what` and `where` appear in the line that a wait of ten seconds writes.
  Backoff(const char* what, acp_ga_t where) : what_(what), where_(where) {}

  /// Waits a little and makes progress. False: the job is ending, and acp_errno
  /// says why.
  [[nodiscard]] bool pause();

 private:
  const char* what_;
  acp_ga_t where_;
  // pause() writes these.
  unsigned pauses_ = 0;               ///< Calls so far.
  std::chrono::milliseconds nap_{0};  ///< The next sleep; 0: it yields.
  unsigned reports_ = 1;              ///< Number of the next report.
  /// The end of the first pass of progress; not set before.
  std::chrono::steady_clock::time_point start_{};
};

}  // namespace acp::middle::structure
