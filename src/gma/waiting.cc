#include "gma/waiting.h"

#include <sched.h>

#include <algorithm>

namespace acp::gma {

namespace {

/// Looks between two passes of progress, and passes between two clock reads.
constexpr int kLooksPerPass = 16;

void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#else
  asm volatile("yield" ::: "memory");
#endif
}

class WaitScope {
 public:
  WaitScope(WaitHost& host, const WaitPurpose& purpose) : host_(host) {
    host_.enter_wait(purpose.kind, purpose.peer);
  }

  WaitScope(const WaitScope&) = delete;
  WaitScope& operator=(const WaitScope&) = delete;

  ~WaitScope() { host_.leave_wait(); }

 private:
  WaitHost& host_;
};

/// Spins as long as the policy allows; true when the wait is over.
bool spin(WaitHost& host,
          TimePoint until,
          const std::function<bool()>& is_done) {
  do {
    for (int look = 0; look < kLooksPerPass; ++look) {
      if (is_done()) {
        return true;
      }
      relax();
    }
    host.make_progress();
  } while (SteadyClock().now() < until);
  return is_done();
}

}  // namespace

Status wait_until(WaitHost& host,
                  const WaitPurpose& purpose,
                  TimePoint deadline,
                  const std::function<bool()>& is_done) {
  if (is_done()) {
    return Status::kOk;
  }
  const WaitScope scope(host, purpose);
  host.make_progress();
  const WaitPolicy& policy = host.policy();
  if (policy.spin.count() > 0) {
    const TimePoint now = SteadyClock().now();
    const Duration budget = std::min<Duration>(policy.spin, deadline - now);
    if (spin(host, now + budget, is_done)) {
      return Status::kOk;
    }
  }
  int yields = policy.yields;
  while (!is_done()) {
    if (const Status health = host.health(); health != Status::kOk) {
      return health;
    }
    const TimePoint now = SteadyClock().now();
    if (now >= deadline) {
      return is_done() ? Status::kOk : Status::kTimedOut;
    }
    if (yields > 0) {
      --yields;
      ::sched_yield();
    } else {
      host.sleep(is_done,
                 std::min<Duration>(purpose.look_again, deadline - now));
    }
    host.make_progress();
  }
  return Status::kOk;
}

TimePoint deadline_after_ms(int timeout_ms) {
  return timeout_ms < 0
             ? TimePoint::max()
             : SteadyClock().now() + std::chrono::milliseconds(timeout_ms);
}

}  // namespace acp::gma
