#include "middle/structure/waiting.h"

#include <sched.h>

#include <string>

#include "acp/extension.h"
#include "acp/gma.h"
#include "middle/log.h"
#include "middle/spin_lock.h"

namespace acp::middle::structure {

namespace {

constexpr unsigned kShort = 4;             // pauses of the processor only
constexpr unsigned kPerProgress = 16;      // yields between passes of progress
constexpr std::chrono::seconds kAwake{1};  // after that, naps
constexpr int kNapMs = 100;
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
  if (!is_long_) {
    ::sched_yield();
    if (pauses_ % kPerProgress != 0) {
      return true;
    }
  }
  // A pass of progress at least, and whether the job ends. A nap leaves the
  // processor to whoever is waited for, and acprun --watchdog sees it.
  if (acpx_wait_until(never, nullptr, is_long_ ? kNapMs : 0) < 0) {
    return false;
  }
  const auto now = std::chrono::steady_clock::now();
  if (start_ == std::chrono::steady_clock::time_point{}) {
    start_ = now;
  }
  is_long_ = now - start_ > kAwake;
  if (now - start_ > reports_ * kPerReport) {
    log_warning(
        "{} at {:#x}: waiting for {} s for {}; acprun --watchdog ends a job "
        "that stands still",
        what_, where_, (reports_++ * kPerReport).count(),
        holder == 0 ? std::string("an operation under way")
                    : fmt::format("rank {}", holder - 1));
  }
  return true;
}

}  // namespace acp::middle::structure
