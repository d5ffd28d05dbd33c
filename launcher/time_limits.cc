// Checks --timeout, --init-timeout and --watchdog. Called by the job's event
// loop; it ends nothing itself.
#include "launcher/time_limits.h"

#include <algorithm>

namespace acp::launcher {

namespace {

/// Watchdog::is_stuck() wants a few sights a second, and each sight reads
/// /proc.
constexpr std::chrono::milliseconds kWatchdogTick{200};

Verdict expired(Cause cause, std::chrono::milliseconds limit) {
  Verdict verdict;
  verdict.cause = cause;
  verdict.value = limit.count();
  return verdict;
}

}  // namespace

TimeLimits::TimeLimits(const Options& options)
    : timeout_(options.timeout),
      init_timeout_(options.init_timeout),
      watchdog_limit_(options.watchdog.count() > 0 ? options.watchdog
                                                   : options.hang_notice),
      started_(Clock::now()),
      watchdog_(watchdog_limit_),
      next_sight_(started_) {}

std::optional<Verdict> TimeLimits::check(const Rollcall& rollcall) {
  const auto now = Clock::now();
  if (timeout_.count() > 0 && now - started_ >= timeout_) {
    return expired(Cause::kTimeout, timeout_);
  }
  return check_meeting(rollcall, now);
}

/// Events may come much more often than the tick, and each look reads /proc.
bool TimeLimits::is_look_due() {
  const auto now = Clock::now();
  if (watchdog_limit_.count() == 0 || now < next_sight_) return false;
  next_sight_ = now + kWatchdogTick;
  return true;
}

std::optional<Verdict> TimeLimits::see(std::span<const RankLook> looks,
                                       const Rollcall& rollcall) {
  if (!watchdog_.is_stuck(see_ranks(looks, rollcall), Clock::now())) {
    return std::nullopt;
  }
  Verdict verdict = expired(Cause::kWatchdog, watchdog_limit_);
  verdict.ranks = stopped_ranks(looks, rollcall);
  if (!verdict.ranks.empty()) {
    verdict.pid = rollcall.pid(verdict.ranks.front());
  }
  return verdict;
}

std::optional<Verdict> TimeLimits::check_meeting(const Rollcall& rollcall,
                                                 Clock::time_point now) {
  if (!rollcall.is_meeting()) {
    meeting_since_.reset();
    return std::nullopt;
  }
  if (!meeting_since_) meeting_since_ = now;
  if (init_timeout_.count() == 0 || now - *meeting_since_ < init_timeout_) {
    return std::nullopt;
  }
  Verdict verdict = expired(Cause::kInitTimeout, init_timeout_);
  verdict.ranks = rollcall.missing_in_init();
  return verdict;
}

TimeLimits::Clock::time_point TimeLimits::next() const {
  auto next = Clock::time_point::max();
  if (timeout_.count() > 0) next = started_ + timeout_;
  if (meeting_since_ && init_timeout_.count() > 0) {
    next = std::min(next, *meeting_since_ + init_timeout_);
  }
  if (watchdog_limit_.count() > 0) {
    next = std::min(next, next_sight_);
  }
  return next;
}

}  // namespace acp::launcher
