// The tables about counters that `acprun --stats` prints. Called by job.cc at
// the end of a job. Pure.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>

#include "launcher/job_report.h"
#include "launcher/program_name.h"

namespace acp::launcher {

namespace {

using protocol::CountedKind;
using protocol::CountedWay;

/// Jobs of more ranks have a line for the least, the median and the most.
constexpr std::size_t kMostRows = 32;
/// Functions that the table of waits has.
constexpr std::size_t kMostCallRows = 12;

constexpr std::array<CountedKind, protocol::kCountedKinds> kKinds = {
    CountedKind::kPut, CountedKind::kGet, CountedKind::kAtomic,
    CountedKind::kMessage};

/// A rank that counts, with the sum of its peers.
struct Row {
  std::uint32_t rank;
  const RankReport* report;
  const RankCounters* counters;
  OpsByWay ops;
};

std::vector<Row> rows_of(const JobReport& report) {
  std::vector<Row> rows;
  for (std::uint32_t rank = 0; rank < report.ranks.size(); ++rank) {
    const RankReport& one = report.ranks[rank];
    if (!one.counters) continue;
    Row row{rank, &one, &*one.counters, {}};
    for (const PeerCount& peer : one.counters->peers)
      row.ops.add(peer.ops);
    rows.push_back(row);
  }
  return rows;
}

double mega(std::uint64_t bytes) {
  return static_cast<double>(bytes) / 1e6;
}

double seconds(std::uint64_t ns) {
  return static_cast<double>(ns) / 1e9;
}

double percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0
             ? 0
             : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

double waiting_share(const Row& row) {
  return percent(row.counters->waited_ns, row.counters->elapsed_ns);
}

std::string line(std::string_view text) {
  return fmt::format("{}: {}\n", program_name(), text);
}

std::string kinds_head(std::string_view first) {
  return fmt::format("{:<20} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}",
                     first, "puts", "MB", "gets", "MB", "atomics", "messages",
                     "MB");
}

std::string kinds_row(std::string_view first,
                      const std::array<CountedOps, 4>& kinds) {
  return fmt::format(
      "{:<20} {:>10} {:>10.1f} {:>10} {:>10.1f} {:>10} {:>10} {:>10.1f}", first,
      kinds[0].operations, mega(kinds[0].bytes), kinds[1].operations,
      mega(kinds[1].bytes), kinds[2].operations, kinds[3].operations,
      mega(kinds[3].bytes));
}

std::array<CountedOps, 4> kinds_of(const OpsByWay& ops) {
  return {ops.of(kKinds[0]), ops.of(kKinds[1]), ops.of(kKinds[2]),
          ops.of(kKinds[3])};
}

std::string rank_table(const JobReport& report, const std::vector<Row>& rows) {
  std::string text = line(kinds_head("by rank") +
                          fmt::format(" {:>9} {:>8} {:>8} {:>8}", "waiting %",
                                      "heap MB", "reg. MB", "lib. MB"));
  for (const Row& row : rows) {
    const std::string name =
        fmt::format("{} on {}", row.rank, report.hosts[row.report->host]);
    text += line(kinds_row(name, kinds_of(row.ops)) +
                 fmt::format(" {:>9.1f} {:>8.1f} {:>8.1f} {:>8.1f}",
                             waiting_share(row), mega(row.counters->heap_bytes),
                             mega(row.counters->registered_most_bytes),
                             mega(row.counters->library_bytes)));
  }
  return text;
}

/// A figure that each rank has, for the table of a large job.
struct Figure {
  std::string_view name;
  double (*of)(const Row& row);
};

constexpr std::array<Figure, 9> kFigures = {{
    {"MB put",
     [](const Row& row) {
       return mega(row.ops.of(CountedKind::kPut).bytes);
     }},
    {"MB got",
     [](const Row& row) {
       return mega(row.ops.of(CountedKind::kGet).bytes);
     }},
    {"puts",
     [](const Row& row) {
       return static_cast<double>(row.ops.of(CountedKind::kPut).operations);
     }},
    {"gets",
     [](const Row& row) {
       return static_cast<double>(row.ops.of(CountedKind::kGet).operations);
     }},
    {"atomics",
     [](const Row& row) {
       return static_cast<double>(row.ops.of(CountedKind::kAtomic).operations);
     }},
    {"messages",
     [](const Row& row) {
       return static_cast<double>(row.ops.of(CountedKind::kMessage).operations);
     }},
    {"waiting %", &waiting_share},
    {"heap MB",
     [](const Row& row) {
       return mega(row.counters->heap_bytes);
     }},
    {"registered MB",
     [](const Row& row) {
       return mega(row.counters->registered_most_bytes);
     }},
}};

/// The ranks at both ends are named: one of them is where to look first.
std::string quantile_table(std::vector<Row> rows) {
  std::string text = line(fmt::format(
      "{:<20} {:>12} {:>8} {:>12} {:>12} {:>12} {:>8}", "over all ranks",
      "least", "of rank", "median", "90 %", "most", "of rank"));
  for (const Figure& figure : kFigures) {
    std::ranges::stable_sort(rows, {}, figure.of);
    const auto at = [&](double fraction) {
      const auto index = static_cast<std::size_t>(
          std::lround(fraction * static_cast<double>(rows.size() - 1)));
      return figure.of(rows[index]);
    };
    text += line(fmt::format(
        "{:<20} {:>12.1f} {:>8} {:>12.1f} {:>12.1f} {:>12.1f} {:>8}",
        figure.name, figure.of(rows.front()), rows.front().rank, at(0.5),
        at(0.9), figure.of(rows.back()), rows.back().rank));
  }
  return text;
}

std::string way_table(const std::vector<Row>& rows) {
  OpsByWay all;
  for (const Row& row : rows)
    all.add(row.ops);
  std::string text = line(kinds_head("by way"));
  for (std::size_t way = 0; way < protocol::kCountedWays; ++way) {
    const auto& kinds = all.ways[way];
    if (std::ranges::all_of(
            kinds, [](const CountedOps& ops) { return ops == CountedOps{}; })) {
      continue;
    }
    text +=
        line(kinds_row(protocol::name_of(static_cast<CountedWay>(way)), kinds));
  }
  return text + line(kinds_row("all", kinds_of(all)));
}

/// The waits of all ranks in a function.
struct CallSum {
  std::uint64_t waits = 0;
  std::uint64_t waited_ns = 0;
  std::uint32_t rank = 0;  ///< The rank that has waited longest here.
  std::uint64_t rank_ns = 0;
  std::map<std::uint32_t, std::uint64_t> peers;  ///< ns by peer.
};

/// Functions are summed over all ranks. The peer of a function is the one that
/// most time was waited for, of the peers that each rank has named.
std::string call_table(const std::vector<Row>& rows) {
  std::map<std::string, CallSum> sums;
  std::uint64_t elapsed_ns = 0;
  for (const Row& row : rows) {
    elapsed_ns += row.counters->elapsed_ns;
    for (const CallCount& call : row.counters->calls) {
      CallSum& sum = sums[call.name];
      sum.waits += call.waits;
      sum.waited_ns += call.waited_ns;
      if (call.waited_ns >= sum.rank_ns) {
        sum.rank = row.rank;
        sum.rank_ns = call.waited_ns;
      }
      if (call.peer != protocol::kNoSlot) sum.peers[call.peer] += call.peer_ns;
    }
  }
  std::vector<std::pair<std::string, CallSum>> calls(sums.begin(), sums.end());
  std::ranges::stable_sort(calls, std::ranges::greater(), [](const auto& call) {
    return call.second.waited_ns;
  });
  if (calls.size() > kMostCallRows) calls.resize(kMostCallRows);
  std::string text = line(
      fmt::format("{:<32} {:>10} {:>12} {:>8} {:>12} {:>12}", "waits in",
                  "waits", "seconds", "% time", "most by rank", "for rank"));
  for (const auto& [name, sum] : calls) {
    const auto peer = std::ranges::max_element(
        sum.peers, {}, [](const auto& one) { return one.second; });
    text += line(fmt::format(
        "{:<32} {:>10} {:>12.6f} {:>8.2f} {:>12} {:>12}", name, sum.waits,
        seconds(sum.waited_ns), percent(sum.waited_ns, elapsed_ns), sum.rank,
        peer == sum.peers.end() ? "-" : std::to_string(peer->first)));
  }
  return text;
}

/// A count of the program over the ranks that have it.
struct OwnSum {
  std::string name;
  std::uint64_t sum = 0;
  std::uint64_t most = 0;
  std::uint32_t rank = 0;  ///< The rank that has the most.
};

/// The counts stay in the order in which the ranks have begun them.
std::string own_table(const std::vector<Row>& rows) {
  std::vector<OwnSum> sums;
  for (const Row& row : rows) {
    for (const NamedCount& count : row.counters->own) {
      auto sum = std::ranges::find(sums, count.name, &OwnSum::name);
      if (sum == sums.end()) sum = sums.insert(sum, OwnSum{count.name});
      sum->sum += count.value;
      if (count.value > sum->most) {
        sum->most = count.value;
        sum->rank = row.rank;
      }
    }
  }
  if (sums.empty()) return "";
  std::string text =
      line(fmt::format("{:<48} {:>16} {:>16} {:>8}", "counts of the program",
                       "of all ranks", "most", "by rank"));
  for (const OwnSum& sum : sums) {
    text += line(fmt::format("{:<48} {:>16} {:>16} {:>8}", sum.name, sum.sum,
                             sum.most, sum.rank));
  }
  return text;
}

}  // namespace

/// A job of programs that do not call acp_init has nothing to count.
std::string counters_table(const JobReport& report) {
  const std::vector<Row> rows = rows_of(report);
  if (rows.empty()) return line("--stats: no rank has counted anything");
  const std::size_t lacking = report.ranks.size() - rows.size();
  return (rows.size() <= kMostRows ? rank_table(report, rows)
                                   : quantile_table(rows)) +
         way_table(rows) + call_table(rows) + own_table(rows) +
         (lacking == 0 ? ""
                       : line(fmt::format("ranks that have counted nothing: {}",
                                          lacking)));
}

}  // namespace acp::launcher
