// The transitions of the roll-call, and its judgement on ranks that leave.
// Called by job_bootstrap.cc, job.cc, TimeLimits and waits.cc. Pure: it sends
// nothing and looks at no clock.
#include "launcher/rollcall.h"

#include <fmt/core.h>
#include <sys/wait.h>

#include <algorithm>

namespace acp::launcher {

namespace {

using protocol::Absence;
using protocol::BootstrapMessage;
using protocol::BootstrapType;
using protocol::Phase;

struct PhaseRow {
  Phase phase;
  RankState before;
  RankState waiting;
  RankState after;
  const char* name;
};

constexpr PhaseRow kPhases[] = {
    {Phase::kNetwork, RankState::kGreeted, RankState::kInInit,
     RankState::kGreeted, "acp_init"},
    {Phase::kInit, RankState::kGreeted, RankState::kInInit, RankState::kRunning,
     "acp_init"},
    {Phase::kCollective, RankState::kRunning, RankState::kAtCollective,
     RankState::kRunning, "acp_reset"},
    {Phase::kFinalize, RankState::kRunning, RankState::kAtFinalize,
     RankState::kLeaving, "acp_finalize"},
};

const PhaseRow* find_phase(std::uint64_t phase) {
  for (const PhaseRow& row : kPhases) {
    if (static_cast<std::uint64_t>(row.phase) == phase) return &row;
  }
  return nullptr;
}

/// From Hello until Finalized.
bool is_inside(RankState state) {
  return state != RankState::kStarted && state != RankState::kFinalized;
}

bool is_at_meeting_point(RankState state) {
  return state == RankState::kAtCollective || state == RankState::kAtFinalize;
}

}  // namespace

Verdict Rollcall::verdict(Cause cause,
                          std::uint32_t rank,
                          std::int64_t value,
                          std::string text) const {
  return {cause, rank, ranks_[rank].pid, value, std::move(text), {}};
}

void Rollcall::move(Rank& rank, RankState state) {
  const auto counts = [&rank] {
    return is_inside(rank.state) && rank.has_exited == 0 ? 1U : 0U;
  };
  --count(rank.state);
  inside_ -= counts();
  rank.state = state;
  ++count(state);
  inside_ += counts();
}

void Rollcall::note_exit(Rank& rank) {
  if (rank.has_exited != 0) return;
  rank.has_exited = 1;
  ++exited_;
  if (is_inside(rank.state)) --inside_;
}

/// The first rank in this state. There is one.
std::uint32_t Rollcall::first_in(RankState state) const {
  const auto found = std::ranges::find_if(
      ranks_, [&](const Rank& rank) { return rank.state == state; });
  return static_cast<std::uint32_t>(found - ranks_.begin());
}

/// Messages that the state of the rank does not allow end the job with
/// kProtocol. kFinalized is such a message unless the rank is leaving.
Answer Rollcall::on_message(std::uint32_t rank,
                            const BootstrapMessage& message) {
  switch (message.type) {
    case BootstrapType::kHello: return on_hello(rank, message.value);
    case BootstrapType::kArrive: return on_arrive(rank, message.value);
    case BootstrapType::kAbort:
      return verdict(Cause::kAborted, rank,
                     static_cast<std::int64_t>(message.value), message.text);
    case BootstrapType::kFinalized:
      if (ranks_[rank].state == RankState::kLeaving) {
        move(ranks_[rank], RankState::kFinalized);
        return Nothing{};
      }
      break;
    case BootstrapType::kEnded:
      if (auto bad = on_exit(rank, static_cast<int>(message.value))) {
        return std::move(*bad);
      }
      return Nothing{};
    default: break;
  }
  return verdict(
      Cause::kProtocol, rank, 0,
      fmt::format("sent bootstrap message {} in state {}: launcher and library "
                  "are of different builds",
                  static_cast<int>(message.type),
                  static_cast<int>(ranks_[rank].state)));
}

Answer Rollcall::on_hello(std::uint32_t rank, std::uint64_t pid) {
  if (ranks_[rank].state != RankState::kStarted) {
    return verdict(Cause::kProtocol, rank, 0,
                   "called acp_init a second time in one job");
  }
  move(ranks_[rank], RankState::kGreeted);
  set_pid(rank, static_cast<std::uint32_t>(pid));
  if (exited_ != 0) {
    const auto other = std::ranges::find_if(
        ranks_, [](const Rank& one) { return one.has_exited != 0; });
    return verdict(Cause::kLeftEarly,
                   static_cast<std::uint32_t>(other - ranks_.begin()));
  }
  return SayWelcome{};
}

/// Order: refuse a phase that is not the rank's next, move the rank, refuse
/// ranks in deadlock. Such ranks wait for each other in two calls, or for one
/// that is absent. When the last rank has come, all go on.
Answer Rollcall::on_arrive(std::uint32_t rank, std::uint64_t phase) {
  const PhaseRow* row = find_phase(phase);
  if (row == nullptr || ranks_[rank].state != row->before) {
    return verdict(Cause::kProtocol, rank, 0,
                   fmt::format("arrived at phase {} in state {}: launcher and "
                               "library are of different builds",
                               phase, static_cast<int>(ranks_[rank].state)));
  }
  move(ranks_[rank], row->waiting);
  for (const RankState state :
       {RankState::kAtCollective, RankState::kAtFinalize}) {
    // They would wait for each other for ever.
    if (is_at_meeting_point(row->waiting) && state != row->waiting &&
        count(state) != 0) {
      Verdict bad = verdict(
          Cause::kProtocol, rank, 0,
          fmt::format(
              "called {} while rank {} waits in {}", row->name, first_in(state),
              state == RankState::kAtFinalize ? "acp_finalize" : "acp_reset"));
      bad.advice = protocol::kSameOrderAdvice;
      bad.is_unlike = true;
      return bad;
    }
  }
  if (auto bad = judge_absence()) return std::move(*bad);
  if (count(row->waiting) < ranks_.size()) return Nothing{};
  for (Rank& one : ranks_) {
    move(one, row->after);
  }
  meetings_ += row->phase == Phase::kCollective ? 1 : 0;
  return SayGo{row->phase};
}

/// Every number of an acp_reset comes before the Go of its first meeting.
Answer Rollcall::on_absence(std::uint32_t rank, const Absence& absence) {
  (void)judge_.note(rank, absence, meetings_);
  if (auto bad = judge_absence()) return std::move(*bad);
  return Nothing{};
}

std::optional<Verdict> Rollcall::judge_absence() const {
  const auto missing = judge_.missing_from(meetings_ + 1);
  if (!missing || count(RankState::kAtCollective) == 0) return std::nullopt;
  Verdict bad =
      verdict(Cause::kProtocol, missing->rank, 0,
              protocol::describe_missing(
                  missing->kind,
                  fmt::format("rank {}", first_in(RankState::kAtCollective))));
  bad.advice = protocol::kSameOrderAdvice;
  bad.is_unlike = true;
  return bad;
}

std::optional<Verdict> Rollcall::on_exit(std::uint32_t rank, int wait_status) {
  if (has_exited(rank) && wait_status != 0) {
    return verdict(Cause::kLauncherFailed, rank, wait_status);
  }
  note_exit(ranks_[rank]);
  if (WIFSIGNALED(wait_status)) {
    return verdict(Cause::kSignaled, rank, WTERMSIG(wait_status));
  }
  if (WEXITSTATUS(wait_status) != 0) {
    return verdict(Cause::kExited, rank, WEXITSTATUS(wait_status));
  }
  return judge_silent_exit(rank);
}

/// Judges a rank that ended with status 0. It fails the job when others wait
/// for it: before acp_init is over, or inside of the library. A job in which no
/// rank said Hello is one of ordinary programs.
std::optional<Verdict> Rollcall::judge_silent_exit(std::uint32_t rank) const {
  const RankState state = ranks_[rank].state;
  if (state == RankState::kFinalized) return std::nullopt;
  const std::uint32_t is_started = state == RankState::kStarted ? 1 : 0;
  const bool others_greeted =
      count(RankState::kStarted) - is_started < ranks_.size() - 1;
  const bool others_inside = inside_ != 0;  // this rank has exited
  const bool before_init = state <= RankState::kInInit;
  if (before_init && others_greeted) {
    return verdict(Cause::kLeftEarly, rank);
  }
  if (state != RankState::kStarted && (others_inside || before_init) &&
      ranks_.size() > 1) {
    return verdict(before_init ? Cause::kLeftEarly : Cause::kNotFinalized,
                   rank);
  }
  return std::nullopt;
}

bool Rollcall::have_all_met() const {
  return std::ranges::all_of(ranks_, [](const Rank& rank) {
    return rank.has_exited != 0 || is_at_meeting_point(rank.state);
  });
}

bool Rollcall::is_meeting() const noexcept {
  return count(RankState::kInInit) != 0;
}

std::vector<std::uint32_t> Rollcall::missing_in_init() const {
  std::vector<std::uint32_t> missing;
  for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    if (ranks_[rank].state < RankState::kInInit) missing.push_back(rank);
  }
  return missing;
}

}  // namespace acp::launcher
