// The texts about packets. Called by job.cc at the end of a job, with the
// counts that the daemons have sent. Pure.
#include "launcher/traffic_table.h"

#include <fmt/core.h>

#include <string_view>

#include "launcher/program_name.h"

namespace acp::launcher {

namespace {

using protocol::Traffic;
using protocol::TrafficCount;

Traffic sum_of(std::span<const TrafficRow> rows) {
  Traffic sum;
  for (const TrafficRow& row : rows)
    sum.add(row.traffic);
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

/// The host that a rank runs on follows from the list, since a rank is on one.
JobTraffic::JobTraffic(std::uint32_t ranks, std::span<const HostRanks> hosts)
    : is_by_rank_(ranks <= kMostRanks),
      rows_(is_by_rank_ ? ranks : hosts.size()) {
  for (const HostRanks& host : hosts) {
    if (!is_by_rank_) {
      rows_[host.number].name = host.name;
      continue;
    }
    for (const std::uint32_t rank : host.ranks.list())
      rows_[rank].name = fmt::format("{} on {}", rank, host.name);
  }
}

void JobTraffic::note(std::span<const RankLook> looks, const RankHosts& hosts) {
  if (looks.empty()) return;  // a host whose ranks have not started
  if (is_by_rank_) {
    for (const RankLook& look : looks)
      rows_[look.launch_rank].traffic = look.traffic;
    return;
  }
  Traffic sum;
  for (const RankLook& look : looks)
    sum.add(look.traffic);
  rows_[hosts.of(looks.front().launch_rank)].traffic = sum;
}

std::string traffic_table(std::span<const TrafficRow> rows) {
  const Traffic sum = sum_of(rows);
  if (sum[TrafficCount::kSent] == 0) {
    return fmt::format("{}: --stats: no rank has sent a packet over udp\n",
                       program_name());
  }
  std::string text = fmt::format(
      "{}: {:<20} {:>10} {:>10} {:>10} {:>10} {:>7} {:>8} {:>8} {:>8}\n",
      program_name(), "udp, by rank", "sent", "MB", "received", "MB", "again %",
      "needl. %", "dropped", "rtt us");
  for (const TrafficRow& row : rows)
    text += row_of(row.name, row.traffic);
  return text + row_of("all", sum) + traffic_line(rows);
}

bool has_losses(std::span<const TrafficRow> rows) {
  const Traffic sum = sum_of(rows);
  return sum[TrafficCount::kSentAgain] != 0 || sum.dropped() != 0;
}

std::string traffic_line(std::span<const TrafficRow> rows) {
  const Traffic sum = sum_of(rows);
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
