// Judges series of looks at the ranks. Pure; called by TimeLimits a few
// times a second.
#include "launcher/watchdog.h"

#include <algorithm>

namespace acp::launcher {

namespace {

using std::chrono::milliseconds;
using Ranks = std::span<const RankSight>;

/// Longest time between two sights that belong together. After a longer one,
/// acprun was stopped with the job or got no processor, and its next sight says
/// nothing of the time between.
constexpr milliseconds kLongestGap{1000};
/// A rank that polls a lock naps for 125 ms or longer between two looks at it.
/// The nap and the look are waits that begin and end: 32 times a second.
constexpr std::uint64_t kPollWaitsPerSecond = 50;
/// One look at a lock is two messages of a network. More messages than the
/// looks explain mean that data are moving.
constexpr std::uint64_t kArrivalsPerWait = 2;
/// Passes of progress after which a rank has looked since the first sight. One
/// pass may have been under way then; the second has seen all that had come.
constexpr std::uint64_t kPasses = 2;

bool can_be_stuck(const RankSight& rank) {
  return (rank.is_waiting || rank.process.is_stopped) &&
         !rank.process.is_traced;
}

bool does_other_work(const RankSight& rank) {
  return rank.process.are_others_running;
}

bool wants_processor(const RankSight& rank) {
  return rank.process.are_others_running || rank.process.is_thread_running;
}

bool has_moved(const RankSight& before, const RankSight& after) {
  return before.waits != after.waits || before.arrivals != after.arrivals;
}

bool has_looked(const RankSight& before, const RankSight& after) {
  return after.process.is_stopped || !after.looks ||
         after.passes - before.passes >= kPasses;
}

}  // namespace

void Watchdog::see_no_moves(Ranks ranks, Clock::time_point now) {
  if (!no_moves_ ||
      !std::equal(ranks.begin(), ranks.end(), no_moves_->first.begin(),
                  no_moves_->first.end(),
                  [](const RankSight& after, const RankSight& before) {
                    return !has_moved(before, after);
                  })) {
    no_moves_ = Stretch{now, {ranks.begin(), ranks.end()}};
  }
  ++no_moves_->sights;
  no_moves_->calm_sights +=
      std::none_of(ranks.begin(), ranks.end(), does_other_work) ? 1 : 0;
}

/// Returns whether polling explains all that has happened since the last sight.
bool Watchdog::can_be_polls(Ranks ranks, Clock::time_point now) const {
  if (last_.size() != ranks.size()) return false;
  const auto gap = static_cast<std::uint64_t>(
      std::chrono::ceil<milliseconds>(now - last_time_).count());
  std::uint64_t all_waits = 0;
  std::uint64_t all_arrivals = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const std::uint64_t waits = ranks[i].waits - last_[i].waits;
    if (waits * 1000 > kPollWaitsPerSecond * (gap + 1)) return false;
    all_waits += waits;
    all_arrivals += ranks[i].arrivals - last_[i].arrivals;
  }
  return all_arrivals <= kArrivalsPerWait * all_waits;
}

void Watchdog::see_polls(Ranks ranks, Clock::time_point now) {
  if (!polls_ || !can_be_polls(ranks, now)) polls_ = Stretch{now, {}};
  ++polls_->sights;
  polls_->calm_sights +=
      std::none_of(ranks.begin(), ranks.end(), wants_processor) ? 1 : 0;
}

/// Both stretches start again when a rank does not wait, or after a gap.
bool Watchdog::is_stuck(Ranks ranks, Clock::time_point now) {
  const bool do_all_wait =
      !ranks.empty() && std::all_of(ranks.begin(), ranks.end(), can_be_stuck);
  if (!do_all_wait || now - last_time_ > kLongestGap) {
    no_moves_.reset();
    polls_.reset();
  }
  if (do_all_wait) {
    see_no_moves(ranks, now);
    see_polls(ranks, now);
  }
  last_.assign(ranks.begin(), ranks.end());
  last_time_ = now;
  return do_all_wait && (is_silent(ranks, now) || is_polling(now));
}

bool Watchdog::is_silent(Ranks ranks, Clock::time_point now) const {
  const bool have_all_looked =
      std::equal(no_moves_->first.begin(), no_moves_->first.end(),
                 ranks.begin(), ranks.end(), has_looked);
  return now - no_moves_->since >= limit_ && have_all_looked &&
         no_moves_->calm_sights * 2 >= no_moves_->sights;
}

bool Watchdog::is_polling(Clock::time_point now) const {
  return now - polls_->since >= limit_ &&
         polls_->calm_sights * 2 >= polls_->sights;
}

}  // namespace acp::launcher
