// The texts about packets. Called by job.cc at the end of a job, with the
// counts that the agents have sent. Pure.
#include "launcher/traffic_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "launcher/program_name.h"

namespace acp::launcher {

namespace {

using protocol::Traffic;
using protocol::TrafficCount;

constexpr std::size_t kMostRows = 64;

Traffic sum_of(std::span<const RankTraffic> ranks) {
  Traffic sum;
  for (const RankTraffic& one : ranks)
    sum.add(one.traffic);
  return sum;
}

double percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0
             ? 0
             : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

double millions(std::uint64_t count) {
  return static_cast<double>(count) / 1e6;
}

std::string row_of(std::string_view name, const Traffic& traffic) {
  return fmt::format(
      "{}: {:<20} {:>10} {:>10.1f} {:>10} {:>10.1f} {:>7.2f} {:>8.2f} "
      "{:>8} {:>8.0f}\n",
      program_name(), name, traffic[TrafficCount::kSent],
      millions(traffic[TrafficCount::kSentBytes]),
      traffic[TrafficCount::kReceived],
      millions(traffic[TrafficCount::kReceivedBytes]),
      percent(traffic[TrafficCount::kSentAgain], traffic[TrafficCount::kSent]),
      percent(traffic[TrafficCount::kNeedless], traffic[TrafficCount::kSent]),
      traffic.dropped(),
      static_cast<double>(traffic[TrafficCount::kLongestRtt]) / 1000);
}

/// Names and counts of the rows, in the order of the ranks.
std::vector<std::pair<std::string, Traffic>> rows_of(
    std::span<const RankTraffic> ranks) {
  std::vector<std::pair<std::string, Traffic>> rows;
  for (const RankTraffic& one : ranks) {
    std::string name = ranks.size() > kMostRows
                           ? one.host
                           : fmt::format("{} on {}", one.rank, one.host);
    const auto found =
        std::ranges::find(rows, name, &std::pair<std::string, Traffic>::first);
    if (found == rows.end()) {
      rows.emplace_back(std::move(name), one.traffic);
    } else {
      found->second.add(one.traffic);
    }
  }
  return rows;
}

/// ": 3 corrupt, 2 replayed"; "" when all packets passed their checks.
std::string reasons_of(const Traffic& traffic) {
  std::string text;
  for (const TrafficCount reason :
       {TrafficCount::kMalformed, TrafficCount::kStrays, TrafficCount::kUnknown,
        TrafficCount::kCorrupt, TrafficCount::kReplayed}) {
    if (traffic[reason] != 0) {
      text += fmt::format("{}{} {}", text.empty() ? ": " : ", ",
                          traffic[reason], protocol::name_of(reason));
    }
  }
  return text;
}

}  // namespace

std::string traffic_table(std::span<const RankTraffic> ranks) {
  const Traffic sum = sum_of(ranks);
  if (sum[TrafficCount::kSent] == 0) {
    return fmt::format("{}: --stats: no rank has sent a packet over udp\n",
                       program_name());
  }
  std::string text = fmt::format(
      "{}: {:<20} {:>10} {:>10} {:>10} {:>10} {:>7} {:>8} {:>8} {:>8}\n",
      program_name(), "udp, by rank", "sent", "MB", "received", "MB", "again %",
      "needl. %", "dropped", "rtt us");
  for (const auto& [name, traffic] : rows_of(ranks)) {
    text += row_of(name, traffic);
  }
  return text + row_of("all", sum) + traffic_line(ranks);
}

bool has_losses(std::span<const RankTraffic> ranks) {
  const Traffic sum = sum_of(ranks);
  return sum[TrafficCount::kSentAgain] != 0 || sum.dropped() != 0;
}

std::string traffic_line(std::span<const RankTraffic> ranks) {
  const Traffic sum = sum_of(ranks);
  if (sum[TrafficCount::kSent] == 0) return "";
  return fmt::format(
      "{}: udp sent {} packets, {:.1f} % of them again (needlessly {:.1f} %), "
      "and dropped {} of {} that came{}\n",
      program_name(), sum[TrafficCount::kSent],
      percent(sum[TrafficCount::kSentAgain], sum[TrafficCount::kSent]),
      percent(sum[TrafficCount::kNeedless], sum[TrafficCount::kSent]),
      sum.dropped(), sum[TrafficCount::kReceived], reasons_of(sum));
}

}  // namespace acp::launcher
