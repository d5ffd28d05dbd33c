#include "gma/waiting.h"

#include <sched.h>

#include <algorithm>

namespace acp::gma {

namespace {

/// Between two looks.
void pause() noexcept {
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

Status health(WaitHost& host, const WaitPurpose& purpose) {
  return purpose.kind == protocol::WaitKind::kSync ? host.sync_health()
                                                   : host.health();
}

/// Spins for a time after the start and after each arrival, but not past the
/// deadline; true when the wait is over. A rank that others are busy with thus
/// answers without being woken each time. What is longer than the policy's time
/// spares a sleep, and as a sleep would it leaves the processor to others: a
/// rank on the same one, put there for a moment, may be the one waited for.
bool spin(WaitHost& host,
          const WaitPurpose& purpose,
          TimePoint deadline,
          const std::function<bool()>& is_done) {
  TimePoint now = SteadyClock().now();
  const Duration time = host.spin_time().at_least(host.policy().spin);
  const WaitPolicy& policy = host.policy();
  TimePoint until = now + time;
  TimePoint yields_from = policy.yields ? now : now + policy.spin;
  while (now < until && now < deadline &&
         health(host, purpose) == Status::kOk) {
    if (now >= yields_from) {
      ::sched_yield();
    }
    for (int look = 1; look < policy.looks; ++look) {
      pause();
      if (is_done()) {
        return true;
      }
    }
    const bool has_arrived = host.make_progress();
    if (is_done()) {
      return true;
    }
    now = SteadyClock().now();
    if (has_arrived) {
      until = now + time;
      yields_from = policy.yields ? now : now + policy.spin;
    } else {
      pause();  // the pass may have found another thread at work
    }
  }
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
  const bool may_spin = host.policy().spin.count() > 0;
  const bool may_sleep = host.policy().may_sleep;
  TimePoint asleep_since{};
  bool has_arrived = host.make_progress() || may_spin;
  bool is_over = is_done();
  while (!is_over) {
    if (may_spin && has_arrived && spin(host, purpose, deadline, is_done)) {
      return Status::kOk;
    }
    if (const Status status = health(host, purpose); status != Status::kOk) {
      return status;
    }
    const TimePoint now = SteadyClock().now();
    if (now >= deadline) {
      return is_done() ? Status::kOk : Status::kTimedOut;
    }
    if (has_arrived) {
      asleep_since = now;
    }
    if (may_sleep) {
      host.sleep(is_done,
                 std::min<Duration>(purpose.look_again, deadline - now));
    }
    has_arrived = host.make_progress() || !may_sleep;
    is_over = is_done();
    if (may_spin && may_sleep && (has_arrived || is_over)) {
      host.spin_time().slept(SteadyClock().now() - asleep_since);
    }
  }
  return Status::kOk;
}

TimePoint deadline_after_ms(int timeout_ms) {
  return timeout_ms < 0
             ? TimePoint::max()
             : SteadyClock().now() + std::chrono::milliseconds(timeout_ms);
}

}  // namespace acp::gma
