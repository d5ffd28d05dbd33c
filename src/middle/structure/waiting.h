// How an operation waits for another rank's: it looks again and again, with
// less and less haste.
#pragma once

#include <chrono>
#include <cstdint>

#include "acp/global_memory.h"

namespace acp::middle::structure {

/// Between two looks. One thread.
class Backoff {
 public:
  /// `what` and `where` are for the line after ten seconds.
  Backoff(const char* what, acp_ga_t where) : what_(what), where_(where) {}

  /// Waits a little and makes progress. `holder`: rank + 1 of who is waited
  /// for, 0 when that is not known. False: the job is ending, acp_errno says.
  [[nodiscard]] bool pause(std::uint64_t holder);

 private:
  const char* what_;
  acp_ga_t where_;
  unsigned pauses_ = 0;
  std::chrono::milliseconds nap_{0};
  unsigned reports_ = 1;  ///< The next one.
  std::chrono::steady_clock::time_point start_{};
};

}  // namespace acp::middle::structure
