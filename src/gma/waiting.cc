// How a call that waits spends its time. Called by the engine, the barriers and
// the functions of src/api; knows no operation and no transport.
#include "gma/waiting.h"

#include <sched.h>

#include <algorithm>

#include "base/futex.h"
#include "base/pause.h"

namespace acp::gma {

namespace {

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
/// deadline. True when the wait is over. A rank that peers ask often thus
/// answers without a wake-up each time. Beyond the policy's time the spin
/// replaces a sleep, and so it yields the core in each pass.
///
/// The kernel may put the rank that is waited for on this core although another
/// core is idle. Then it cannot run before this thread leaves the core, so the
/// thread yields from the second pass on. The first pass does not ask: a quick
/// answer comes from another core, and is not to cost more.
bool spin(WaitHost& host,
          const WaitPurpose& purpose,
          TimePoint deadline,
          const std::function<bool()>& is_done) {
  TimePoint now = host.now();
  const Duration time = host.spin_time().at_least(host.policy().spin);
  const WaitPolicy& policy = host.policy();
  TimePoint until = now + time;
  TimePoint yields_from = policy.yields ? now : now + policy.spin;
  bool shares_core = false;
  while (now < until && now < deadline &&
         health(host, purpose) == Status::kOk) {
    if (shares_core || now >= yields_from) {
      host.yield_core();
    }
    for (int look = 1; look < policy.looks; ++look) {
      pause_cpu();
      if (is_done()) {
        return true;
      }
    }
    const bool has_arrived = host.make_progress();
    if (is_done()) {
      return true;
    }
    now = host.now();
    shares_core = !policy.yields && host.shares_core_now();
    if (has_arrived) {
      until = now + time;
      yields_from = policy.yields ? now : now + policy.spin;
    } else {
      pause_cpu();  // the pass may have found another thread at work
    }
  }
  return is_done();
}

void sleep(WaitHost& host,
           const WaitPurpose& purpose,
           Duration limit,
           const std::function<bool()>& is_done) {
  if (purpose.sleep_word != nullptr) {
    host.sleep_on(*purpose.sleep_word, limit);
  } else {
    host.sleep(is_done, limit);
  }
}

/// Returns the time to sleep before the next look. A plain store may end the
/// wait, and it wakes no sleeper. The time is 1/16 of the idle time, within
/// look_again and 50 ms. So a long wait wakes 20 times a second. It notices a
/// store soon, compared with the time that it has waited.
Duration time_to_look(const WaitPurpose& purpose, Duration idle) {
  constexpr int kShare = 16;
  constexpr Duration kRarest = std::chrono::milliseconds(50);
  return std::max(purpose.look_again, std::min(idle / kShare, kRarest));
}

}  // namespace

void WaitHost::yield_core() noexcept {
  ::sched_yield();
}

TimePoint WaitHost::now() const noexcept {
  return SteadyClock().now();
}

void sleep_on_word(const SleepWord& sleep_word, Duration limit) {
  sleep_word.sleepers.fetch_add(1, std::memory_order_seq_cst);
  futex_wait(sleep_word.word, sleep_word.expected, limit);
  sleep_word.sleepers.fetch_sub(1, std::memory_order_seq_cst);
}

void move_word(std::atomic<std::uint32_t>& word,
               const std::atomic<std::uint32_t>& sleepers,
               std::uint32_t value) {
  word.store(value, std::memory_order_seq_cst);
  if (sleepers.load(std::memory_order_seq_cst) != 0) {
    futex_wake_all(word);
  }
}

/// Each turn spins if something has arrived, looks at the health and the clock,
/// sleeps, and makes progress. The purpose is published only after the first
/// look at the condition, which often ends the wait.
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
  TimePoint asleep_since = TimePoint::max();  // before the first sleep
  bool has_arrived = host.make_progress() || may_spin;
  bool is_over = is_done();
  while (!is_over) {
    if (may_spin && has_arrived && spin(host, purpose, deadline, is_done)) {
      return Status::kOk;
    }
    if (const Status status = health(host, purpose); status != Status::kOk) {
      return status;
    }
    const TimePoint now = host.now();
    if (now >= deadline) {
      return is_done() ? Status::kOk : Status::kTimedOut;
    }
    if (has_arrived || asleep_since > now) {
      asleep_since = now;
    }
    if (may_sleep) {
      const Duration limit = time_to_look(purpose, now - asleep_since);
      sleep(host, purpose, std::min<Duration>(limit, deadline - now), is_done);
    }
    has_arrived = host.make_progress() || !may_sleep;
    is_over = is_done();
    if (may_spin && may_sleep && (has_arrived || is_over)) {
      host.spin_time().slept(host.now() - asleep_since);
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
