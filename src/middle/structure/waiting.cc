#include "middle/structure/waiting.h"

#include <sched.h>

#include <string>

#include "acp/extension.h"
#include "acp/gma.h"
#include "middle/log.h"
#include "middle/spin_lock.h"

namespace acp::middle::structure {

namespace {

constexpr unsigned kShort = 4;         // pauses of the processor only
constexpr unsigned kPerProgress = 16;  // yields between passes of progress
constexpr std::chrono::seconds kPerReport{10};

int never(void*) {
  return 0;
}

}  // namespace

bool Backoff::pause(std::uint64_t holder) {
  if (++pauses_ <= kShort) {
    for (unsigned i = 0; i < 1U << (3 + pauses_); ++i) {
      relax();
    }
    return true;
  }
  ::sched_yield();
  if (pauses_ % kPerProgress != 0) {
    return true;
  }
  // One pass of progress, and whether the job ends.
  if (acpx_wait_until(never, nullptr, 0) < 0) {
    return false;
  }
  const auto now = std::chrono::steady_clock::now();
  if (next_report_ == std::chrono::steady_clock::time_point{}) {
    next_report_ = now + kPerReport;
  } else if (now > next_report_) {
    next_report_ = now + kPerReport;
    log_warning("{} at {:#x}: waiting for 10 s for {}", what_, where_,
                holder == 0 ? std::string("an operation under way")
                            : fmt::format("rank {}", holder - 1));
  }
  return true;
}

}  // namespace acp::middle::structure
