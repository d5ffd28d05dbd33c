// Makes rows of views. Called for each view of acprun. Pure.
#include "picture.h"

#include <optional>

namespace acp::top {

namespace {

using protocol::JobView;
using protocol::RankStage;
using protocol::RankView;
using protocol::TrafficCount;

Number known(std::uint32_t value) {
  return value == protocol::kNoSlot ? Number() : Number(value);
}

std::uint64_t packets(const RankView& rank, TrafficCount count) {
  return rank.traffic[count];
}

/// The states in their order of precedence. A rank whose wait finds work is in
/// progress, and one whose thread has no processor meanwhile is asleep.
State state_of(const RankView& now, const RankView* before) {
  if (now.stage == RankStage::kEnded) return State::kEnded;
  if (now.is_stopped) return State::kStopped;
  if (now.stage == RankStage::kStarting) return State::kStarting;
  if (now.stage == RankStage::kFinished) return State::kFinished;
  if (!now.was_seen) return State::kUnknown;
  if (now.call.empty()) return State::kComputing;
  if (before != nullptr && before->arrivals != now.arrivals) {
    return State::kInProgress;
  }
  return now.is_running ? State::kWaiting : State::kAsleep;
}

/// Counts only grow. A smaller one is of a host that did not answer.
Real rate(std::uint64_t before, std::uint64_t now, double seconds) {
  if (seconds <= 0 || now < before) return std::nullopt;
  return static_cast<double>(now - before) / seconds;
}

void add_rates(const RankView& before,
               const RankView& now,
               double seconds,
               RankRow& row) {
  row.waits_per_s = rate(before.waits, now.waits, seconds);
  row.arrivals_per_s = rate(before.arrivals, now.arrivals, seconds);
  row.sent_per_s = rate(packets(before, TrafficCount::kSent),
                        packets(now, TrafficCount::kSent), seconds);
  row.resent_per_s = rate(packets(before, TrafficCount::kSentAgain),
                          packets(now, TrafficCount::kSentAgain), seconds);
}

/// A value that the view does not have stays unknown: a rank that computes has
/// waited for no time, not for 0 s.
RankRow row_of(const RankView& now,
               const RankView* before,
               const std::string& host,
               double seconds) {
  RankRow row;
  row.rank = now.rank;
  row.started_as = now.launch_rank;
  row.host = host;
  row.core = known(now.core);
  row.state = state_of(now, before);
  row.call = now.call;
  row.peer = known(now.peer);
  if (!now.call.empty()) {
    row.waited_s = static_cast<double>(now.waited_ms) / 1000;
  }
  if (now.pid != 0) row.pid = now.pid;
  if (now.was_seen) {
    row.sent = static_cast<std::int64_t>(packets(now, TrafficCount::kSent));
    row.resent =
        static_cast<std::int64_t>(packets(now, TrafficCount::kSentAgain));
  }
  if (before != nullptr) add_rates(*before, now, seconds, row);
  return row;
}

}  // namespace

/// Both views have the ranks in the order of their numbers at launch. A rank
/// gets rates only when both views have seen it.
Picture picture_of(const JobView& now, const JobView* before) {
  Picture picture;
  picture.acprun = now.acprun_pid;
  picture.ranks = now.procs;
  picture.hosts = static_cast<std::int64_t>(now.hosts.size());
  picture.program = now.program;
  picture.age_s = static_cast<double>(now.age_ms) / 1000;
  picture.end = now.end;
  const bool has_before =
      before != nullptr && before->ranks.size() == now.ranks.size();
  const double seconds =
      has_before ? picture.age_s - static_cast<double>(before->age_ms) / 1000
                 : 0;
  for (std::size_t i = 0; i < now.ranks.size(); ++i) {
    const RankView& rank = now.ranks[i];
    const RankView* earlier = has_before ? &before->ranks[i] : nullptr;
    if (earlier != nullptr && !(earlier->was_seen && rank.was_seen)) {
      earlier = nullptr;
    }
    picture.rows.push_back(
        row_of(rank, earlier, now.hosts[rank.host], seconds));
  }
  return picture;
}

}  // namespace acp::top
