// The one verdict of a job, and the times that follow from it: when acprun does
// the work of a keeper that does not, and when it gives up a slow reader of the
// output. job.cc asks for them in each turn of its loop.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>

#include "launcher/verdict.h"

namespace acp::launcher {

/// Whether a job has ranks on hosts where daemons start them.
enum class JobHosts : std::uint8_t { kOnlyThis, kOthers };

/// Pure: the caller brings the time. Used by the thread of the event loop,
/// which alone touches all fields.
///
/// Invariants:
///  1. The verdict is set once, by set(); later failures follow from it. Before
///     that a verdict on unlike calls may wait, for kUnlikeLimit.
///  2. While there is a verdict, next() is finite, so the loop always ends.
class JobVerdict {
 public:
  using Clock = std::chrono::steady_clock;
  using Milliseconds = std::chrono::milliseconds;

  /// Time between SIGTERM and SIGKILL when the job has failed by itself. A
  /// failed job has to be over within 2 s, all steps together.
  static constexpr Milliseconds kFailureGrace{1000};
  /// Time beyond the grace period after which acprun does the keeper's work.
  static constexpr Milliseconds kKeeperLimit{1000};
  /// Time beyond that after which acprun gives up a daemon.
  static constexpr Milliseconds kDaemonLimit{1000};
  /// Time for the other ranks of a job in unlike calls to come to theirs, so
  /// that the summary names the calls. They usually come within a millisecond.
  static constexpr Milliseconds kUnlikeLimit{200};

  /// `grace` is the user's time between SIGTERM and SIGKILL.
  JobVerdict(Milliseconds grace, JobHosts hosts)
      : user_grace_(grace), hosts_(hosts) {}

  /// The first failure ends the job. A verdict on unlike calls that waits
  /// becomes the verdict instead of this one. False: there is a verdict
  /// already.
  bool set(Verdict verdict, Clock::time_point now);

  bool is_set() const noexcept { return verdict_.has_value(); }

  /// Precondition, as for grace() and is_asked_again(): is_set().
  const Verdict& get() const noexcept { return *verdict_; }

  /// The time between SIGTERM and SIGKILL that this verdict gives.
  Milliseconds grace() const noexcept;

  /// A verdict on unlike calls waits here: ranks that arrive meanwhile give
  /// further ones, which do not count.
  void hold(Verdict verdict, Clock::time_point now);

  /// The verdict that waits, and becomes the job's when all ranks have met, or
  /// is_hold_over().
  const std::optional<Verdict>& held() const noexcept { return held_; }

  bool is_hold_over(Clock::time_point now) const noexcept {
    return now >= hold_until_;
  }

  /// acprun has sent this signal to the ranks. A rank that it kills was
  /// interrupted, and has not failed.
  void note_passed_on(int signal) { passed_on_.insert(signal); }

  /// Counts a signal that asks for the end. True from the second on: a user who
  /// asks twice does not want to wait, so the times come closer.
  bool is_asked_again(Clock::time_point now);

  /// Time to do the work of a keeper or a daemon that does not do it, for
  /// example because it was stopped.
  bool is_forced(Clock::time_point now) const noexcept {
    return now >= force_at_;
  }

  /// Time to give up a slow reader of the output: Clock::time_point::max(),
  /// unless the user asked for the end.
  Clock::time_point give_up_output_at() const noexcept {
    return give_up_output_at_;
  }

  /// The next time at which is_hold_over() or is_forced() becomes true.
  Clock::time_point next() const noexcept {
    return is_set() ? force_at_ : hold_until_;
  }

 private:
  bool is_asked_for() const noexcept;

  const Milliseconds user_grace_;
  const JobHosts hosts_;
  std::set<int> passed_on_;  ///< Signals that acprun sent to the ranks.
  std::optional<Verdict> verdict_;
  std::optional<Verdict> held_;  ///< Becomes verdict_ at hold_until_.
  Clock::time_point hold_until_ = Clock::time_point::max();
  /// Set by set() and is_asked_again(), as is the next.
  Clock::time_point force_at_ = Clock::time_point::max();
  Clock::time_point give_up_output_at_ = Clock::time_point::max();
  int requests_ = 0;  ///< Requests to end by signal.
};

}  // namespace acp::launcher
