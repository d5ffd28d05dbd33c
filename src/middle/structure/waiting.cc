// Backoff::pause, which the data structures call between two looks at a word
// that another rank has to change. No lock of this process may be held.
#include "middle/structure/waiting.h"

#include <sched.h>

#include <algorithm>
#include <string>

#include "acp/extension.h"
#include "acp/gma.h"
#include "base/spin_lock.h"
#include "middle/log.h"
#include "middle/structure/site.h"

namespace acp::middle::structure {

namespace {

/// Pauses that only spin: 16, 32, 64 and 128 times, some microseconds together.
/// A holder that runs seldom needs longer for a flight on its own host. Each
/// further pause doubles the time in which a preempted holder does not get this
/// core. Reasoned, not measured; 2 to 6 keep that order of size.
constexpr unsigned kShort = 4;
/// Calls of sched_yield between two passes of progress. A pass costs several
/// times as much as a yield, but this rank answers other ranks, and hears that
/// the job ends, in passes alone. Reasoned, not measured: with 1 a wait is
/// slower, and with hundreds the ranks that need an answer are.
constexpr unsigned kPerProgress = 16;
/// The time after which the thread sleeps. A lock is held for some flights,
/// so a wait of a second is rare, and its holder is stopped or very slow. A
/// shorter time lets waits under load sleep; a longer one keeps a core busy.
constexpr std::chrono::seconds kAwake{1};
/// A sleep is this part of the time waited, so a wait ends at most an eighth
/// too late. Ten looks a second over udp took 5 % of a processor under a
/// sanitizer.
constexpr int kNapShare = 8;
/// The limit of a sleep: a lock that is free is seen within a second.
constexpr std::chrono::milliseconds kLongestNap{1000};
/// A line appears each ten seconds: soon enough for a user who watches, and too
/// seldom to fill a log. Any number of seconds above kAwake will do.
constexpr std::chrono::seconds kPerReport{10};

int never(void*) {
  return 0;
}

}  // namespace

/// Spins first, then yields, then sleeps. Every pass of progress also learns
/// whether the job is ending.
bool Backoff::pause() {
  if (++pauses_ <= kShort) {
    for (unsigned i = 0; i < 1U << (3 + pauses_); ++i) {
      pause_cpu();
    }
    return true;
  }
  if (nap_.count() == 0) {
    ::sched_yield();
    if (pauses_ % kPerProgress != 0) {
      return true;
    }
  }
  // Makes at least one pass of progress, which also asks whether the job is
  // ending. A sleep leaves the processor to the rank that is waited for, and
  // acprun --watchdog sees it.
  const NamedCall call;
  if (acpx_wait_until(never, nullptr, static_cast<int>(nap_.count())) < 0) {
    return false;
  }
  const auto now = std::chrono::steady_clock::now();
  if (start_ == std::chrono::steady_clock::time_point{}) {
    start_ = now;
  }
  const auto waited =
      std::chrono::duration_cast<std::chrono::milliseconds>(now - start_);
  if (waited > kAwake) {
    nap_ = std::min(waited / kNapShare, kLongestNap);
  }
  if (waited > reports_ * kPerReport) {
    log_warning(
        "{} at {:#x}: waiting for {} s for an operation under way; acprun "
        "--watchdog ends a job that stands still",
        what_, where_, (reports_++ * kPerReport).count());
  }
  return true;
}

}  // namespace acp::middle::structure
