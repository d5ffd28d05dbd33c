// Looks without a pause first, then yields the processor, then sleeps. The
// times are those in which messages of one host arrive: 0.2 us, a time slice.
//
// The MPI below may have work that no request here tells of: a collective that
// does not block, a window, a message of another host. Its peers may wait for
// this process, so each waiting call has it make progress, too.
#include "hmpi/waiting.h"

#include <sched.h>

#include <algorithm>

#include "acp.h"
#include "acp/extension.h"
#include "hmpi/end_job.h"

namespace hmpi {

namespace {

using std::chrono::microseconds;
using std::chrono::steady_clock;

/// Looks until a call gives its processor away: some 50 us, or little where
/// another process waits for the processor.
constexpr unsigned kLooks = 1000;
constexpr unsigned kLooksWhenCrowded = 20;
/// A pause of the processor takes as long as several looks.
constexpr unsigned kLooksWithoutPause = 200;
/// A call that has yielded for so long sleeps.
constexpr microseconds kSleepAfter{300};
constexpr microseconds kLongestWake{20'000};
/// A sleeping process looks at the MPI below after a sixteenth of its wait.
constexpr microseconds kLongestSleep{5000};
/// Looks without a pause for each look at the MPI below.
constexpr unsigned kLooksPerLookBelow = 16;

}  // namespace

/// Gives the processor away by steps: a pause, a yield, a sleep.
void Waiting::pause() {
  ++looks_;
  const unsigned looks = job_.has_processors ? kLooks : kLooksWhenCrowded;
  if (looks_ < looks) {
    if (job_.has_other_hosts && looks_ % kLooksPerLookBelow == 0) {
      job_.requests.progress_below();
    }
    if (job_.has_threads) {
      gate().leave();
      gate().enter();
    } else if (looks_ > kLooksWithoutPause) {
      __builtin_ia32_pause();
    }
    return;
  }
  if (looks_ == looks) {
    begin_ = steady_clock::now();
  }
  if (awaited_.send != nullptr) {
    job_.engine.detach(*awaited_.send);
  }
  gate().leave();
  ::sched_yield();
  gate().enter();
  job_.requests.progress_below();
  const auto waited =
      std::chrono::duration_cast<microseconds>(steady_clock::now() - begin_);
  if (waited >= next_wake_) {
    next_wake_ = waited + std::min(waited, kLongestWake);
    job_.engine.wake_awaited();
  }
  if (waited < kSleepAfter) {
    return;
  }
  if (!has_to_poll() || waited >= next_look_at_job_) {
    next_look_at_job_ = waited + microseconds(1000);
    sleep(waited);
  }
}

/// The MPI below has no descriptor to sleep on. On several hosts it has work at
/// any time.
bool Waiting::has_to_poll() const noexcept {
  return awaited_.is_below || job_.has_other_hosts;
}

/// Where the process has to poll, this only looks at the job.
void Waiting::sleep(microseconds waited) {
  const auto look = [](void* argument) {
    auto& waiting = *static_cast<Waiting*>(argument);
    const Inside inside(gate());
    return waiting.look() ? 1 : 0;
  };
  const auto longest = std::chrono::ceil<std::chrono::milliseconds>(
      std::min(waited / 16, kLongestSleep));
  Engine& engine = job_.engine;
  engine.begin_sleep();
  gate().leave();
  const int result = acpx_wait_until(
      look, this, has_to_poll() ? 0 : static_cast<int>(longest.count()));
  gate().enter();
  engine.end_sleep();
  if (result < 0) {
    end_job(std::string("the job is ending, because a process has ended before "
                        "MPI_Finalize, or was killed: ") +
            acpx_strerror(acp_errno));
  }
}

}  // namespace hmpi
