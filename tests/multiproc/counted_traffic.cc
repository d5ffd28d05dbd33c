// Compares reports of acprun with the traffic of counted.cc, row by row. Called
// by counters_test.cc and by counted_check.cc. Pure.
#include "counted_traffic.h"

#include <map>
#include <tuple>
#include <utility>

#include <nlohmann/json.hpp>

namespace counted {

namespace {

using Json = nlohmann::json;
/// Rank, peer, way, kind.
using Cell = std::tuple<std::uint64_t, std::uint64_t, std::string, std::string>;
/// Operations and bytes.
using Count = std::pair<std::uint64_t, std::uint64_t>;
using Cells = std::map<Cell, Count>;

std::string text_of(const Cell& cell, const Count& count) {
  return "rank " + std::to_string(std::get<0>(cell)) + ", peer " +
         std::to_string(std::get<1>(cell)) + ", " + std::get<2>(cell) + " " +
         std::get<3>(cell) + ": " + std::to_string(count.first) +
         " operations, " + std::to_string(count.second) + " bytes";
}

/// The cells that a run fills.
class Expected {
 public:
  Expected(const Json& report, const Run& run) : report_(report), run_(run) {
    procs_ = report.at("job_ranks");
    for (std::uint64_t rank = 0; rank < procs_; ++rank)
      add_rank(rank);
  }

  const Cells& cells() const { return cells_; }

 private:
  void add_rank(std::uint64_t rank) {
    const std::uint64_t next = (rank + 1) % procs_;
    const std::uint64_t previous = (rank + procs_ - 1) % procs_;
    const std::uint64_t all = run_.times * run_.bytes;
    if (run_.pattern == "ring" || run_.pattern == "killed") {
      add(rank, next, "put", run_.times, all);
    } else if (run_.pattern == "turned") {
      // All ranks move by one, so the next rank is the same process.
      add(rank, next, "put", 2 * run_.times, 2 * all);
    } else if (run_.pattern == "threads") {
      add(rank, next, "put", 8 * run_.times, 8 * all);
    } else if (run_.pattern == "all_to_one" && rank != 0) {
      add(rank, 0, "atomic", run_.times, 8 * run_.times);
      add(rank, 0, "get", run_.times, all);
    } else if (run_.pattern == "halo") {
      for (const std::uint64_t peer : {previous, next}) {
        add(rank, peer, "put", run_.times, all);
        add(rank, peer, "atomic", run_.times, 8 * run_.times);
      }
    } else if (run_.pattern == "channel") {
      add(rank, next, "message", run_.times, all);
    } else if (run_.pattern == "registered") {
      cells_[{rank, next,
              are_near(rank, next) && run_.near_way == "cma" ? "direct"
                                                             : way(rank, next),
              "get"}] = {1, 8};
      add(rank, next, "put", run_.times, all);
    }
  }

  void add(std::uint64_t rank,
           std::uint64_t peer,
           const std::string& kind,
           std::uint64_t operations,
           std::uint64_t bytes) {
    Count& count = cells_[{rank, peer, way(rank, peer), kind}];
    count.first += operations;
    count.second += bytes;
  }

  bool are_near(std::uint64_t rank, std::uint64_t peer) const {
    const Json& ranks = report_.at("ranks");
    return ranks.at(rank).at("host") == ranks.at(peer).at("host");
  }

  std::string way(std::uint64_t rank, std::uint64_t peer) const {
    return are_near(rank, peer) ? run_.near_way : run_.far_way;
  }

  const Json& report_;
  const Run& run_;
  std::uint64_t procs_ = 0;
  Cells cells_;
};

Cells cells_of(const Json& report, const Run& run) {
  Cells cells;
  for (const Json& rank : report.at("ranks")) {
    if (rank.at("counted") != true) continue;
    for (const Json& row : rank.at("traffic")) {
      if (run.pattern == "channel" && row.at(2) != "message") continue;
      cells[{rank.at("rank"), row.at(0), row.at(1), row.at(2)}] = {row.at(3),
                                                                   row.at(4)};
    }
  }
  return cells;
}

}  // namespace

std::string difference(const std::string& report, const Run& run) {
  const Json json = Json::parse(report);
  const Expected expected(json, run);
  const Cells cells = cells_of(json, run);
  for (const auto& [cell, count] : expected.cells()) {
    const auto found = cells.find(cell);
    if (found == cells.end()) return "lacking: " + text_of(cell, count);
    if (found->second != count) {
      return "expected " + text_of(cell, count) + "; found " +
             text_of(cell, found->second);
    }
  }
  for (const auto& [cell, count] : cells) {
    if (!expected.cells().contains(cell)) {
      return "unexpected: " + text_of(cell, count);
    }
  }
  return "";
}

}  // namespace counted
