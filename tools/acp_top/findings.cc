// Looks for circles of waits, ranks that others wait for, and ranks that are
// missing in a collective call. Called for each picture that is shown. Pure.
#include "findings.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <unordered_map>

namespace acp::top {

namespace {

using Rank = std::int64_t;

/// Ranks that a line names one by one.
constexpr std::size_t kNamed = 3;
/// Ranks of a circle that a line names.
constexpr std::size_t kNamedInCircle = 7;

/// The rows by rank, and the long waits for one rank among them.
class WaitGraph {
 public:
  explicit WaitGraph(const Picture& picture) {
    for (const RankRow& row : picture.rows) {
      if (row.rank) rows_.emplace(*row.rank, &row);
    }
  }

  /// nullptr: there is no such rank.
  const RankRow* row(Rank rank) const {
    const auto found = rows_.find(rank);
    return found == rows_.end() ? nullptr : found->second;
  }

  /// The rank that a rank has long waited for; nullopt: none.
  Number next(Rank rank) const {
    const RankRow* waiter = row(rank);
    if (waiter == nullptr || !is_long_wait(*waiter) || !waiter->peer ||
        row(*waiter->peer) == nullptr) {
      return std::nullopt;
    }
    return waiter->peer;
  }

 private:
  std::unordered_map<Rank, const RankRow*> rows_;
};

std::string count_of(std::size_t ranks) {
  return fmt::format("{} rank{}", ranks, ranks == 1 ? "" : "s");
}

/// "computing", "waiting in acp_sync", "waiting in acp_wait_ch for rank 3".
std::string describe(const RankRow& row) {
  const bool shows_call = !row.call.empty() && row.state != State::kStopped &&
                          row.state != State::kEnded;
  if (!shows_call) return std::string(name_of(row.state));
  return row.peer
             ? fmt::format("waiting in {} for rank {}", row.call, *row.peer)
             : fmt::format("waiting in {}", row.call);
}

std::string describe_circle(const Picture& picture,
                            const std::vector<Rank>& circle) {
  const WaitGraph graph(picture);
  double waited = *graph.row(circle.front())->waited_s;
  for (const Rank rank : circle)
    waited = std::min(waited, *graph.row(rank)->waited_s);
  const bool is_cut = circle.size() > kNamedInCircle;
  std::string text;
  for (std::size_t i = 0; i < circle.size(); ++i) {
    if (is_cut && i == kNamedInCircle - 1) {
      text += "... -> ";
      i = circle.size() - 1;
    }
    text += fmt::format("{} -> ", circle[i]);
  }
  return fmt::format("CIRCLE of {}, for {}: {}{}", count_of(circle.size()),
                     describe_seconds(waited), text, circle.front());
}

/// The rank at the end of the most waits. It waits for no other rank, or not
/// for long, so the cause is there.
void add_awaited(const Picture& picture, std::vector<std::string>& lines) {
  const WaitGraph graph(picture);
  std::map<Rank, std::size_t> waiters;
  for (const RankRow& row : picture.rows) {
    if (!row.rank || !graph.next(*row.rank)) continue;
    Rank end = *row.rank;
    std::size_t steps = 0;
    for (Number next = graph.next(end); next && steps <= picture.rows.size();
         next = graph.next(end), ++steps) {
      end = *next;
    }
    if (!graph.next(end)) ++waiters[end];  // else it is in a circle
  }
  const auto most = std::ranges::max_element(
      waiters, {}, [](const auto& entry) { return entry.second; });
  if (most == waiters.end()) return;
  lines.push_back(
      fmt::format("{} wait{} for rank {}, directly or through others. It is {}",
                  count_of(most->second), most->second == 1 ? "s" : "",
                  most->first, describe(*graph.row(most->first))));
}

/// Names the ranks that are not in the call in which most others wait for all.
void add_missing(const Picture& picture, std::vector<std::string>& lines) {
  std::map<std::string, std::size_t> calls;
  for (const RankRow& row : picture.rows) {
    if (is_long_wait(row) && !row.peer) ++calls[row.call];
  }
  const auto most = std::ranges::max_element(
      calls, {}, [](const auto& entry) { return entry.second; });
  if (most == calls.end() || most->second == picture.rows.size() ||
      most->second * 2 < picture.rows.size()) {
    return;
  }
  std::string text = fmt::format("{} wait{} in {}", count_of(most->second),
                                 most->second == 1 ? "s" : "", most->first);
  std::size_t missing = 0;
  for (const RankRow& row : picture.rows) {
    if (!row.rank || row.call == most->first) continue;
    if (missing++ < kNamed) {
      text += fmt::format("; rank {} is {}", *row.rank, describe(row));
    }
  }
  if (missing == 0) return;
  if (missing > kNamed) {
    text += fmt::format("; so many others are not there: {}", missing - kNamed);
  }
  lines.push_back(std::move(text));
}

void add_stopped(const Picture& picture, std::vector<std::string>& lines) {
  std::size_t stopped = 0;
  for (const RankRow& row : picture.rows) {
    if (row.state != State::kStopped || !row.rank || !row.pid) continue;
    if (stopped++ == 0) {
      lines.push_back(
          fmt::format("rank {} is stopped: 'kill -CONT {}' on {} lets it go on",
                      *row.rank, *row.pid, row.host));
    }
  }
  if (stopped > 1) {
    lines.back() += fmt::format(" ({} are stopped)", count_of(stopped));
  }
}

/// Says for how long no rank has moved.
void add_standstill(const Picture& picture, std::vector<std::string>& lines) {
  double waited = -1;
  for (const RankRow& row : picture.rows) {
    if (row.state == State::kStopped || row.state == State::kEnded) continue;
    if (!is_long_wait(row)) return;
    waited = waited < 0 ? *row.waited_s : std::min(waited, *row.waited_s);
  }
  if (waited >= 0) {
    lines.push_back(fmt::format("STUCK: no rank has got any further for {}",
                                describe_seconds(waited)));
  }
}

}  // namespace

bool is_long_wait(const RankRow& row) noexcept {
  return row.waited_s.value_or(0) >= kLongWait && row.state != State::kEnded;
}

/// Each rank has one wait at most, so a walk along the waits either ends or
/// comes into a circle. `walk_of` has the walk that came by a rank first.
std::vector<std::vector<std::int64_t>> find_circles(const Picture& picture) {
  const WaitGraph graph(picture);
  std::unordered_map<Rank, Rank> walk_of;
  std::vector<std::vector<Rank>> circles;
  for (const RankRow& row : picture.rows) {
    if (!row.rank) continue;
    const Rank walk = *row.rank;
    Number at = walk;
    while (at && walk_of.emplace(*at, walk).second)
      at = graph.next(*at);
    if (!at || walk_of.at(*at) != walk) continue;
    // This walk has come back to one of its own ranks.
    std::vector<Rank> circle;
    Rank member = *at;
    do {
      circle.push_back(member);
      member = *graph.next(member);
    } while (member != *at);
    std::rotate(circle.begin(), std::ranges::min_element(circle), circle.end());
    circles.push_back(std::move(circle));
  }
  return circles;
}

std::vector<std::string> findings_of(const Picture& picture) {
  std::vector<std::string> lines;
  add_standstill(picture, lines);
  for (const auto& circle : find_circles(picture))
    lines.push_back(describe_circle(picture, circle));
  add_stopped(picture, lines);
  add_awaited(picture, lines);
  add_missing(picture, lines);
  return lines;
}

}  // namespace acp::top
