// Rows and pictures for the tests of acp_top.
#pragma once

#include <string>
#include <utility>

#include "picture.h"

namespace acp::top::rows {

inline RankRow computing(std::int64_t rank) {
  RankRow row;
  row.rank = rank;
  row.started_as = rank;
  row.host = "a";
  row.state = State::kComputing;
  row.pid = 1000 + rank;
  return row;
}

/// A rank that waits, for `peer` or for all ranks.
inline RankRow waiting(std::int64_t rank,
                       std::string call,
                       Number peer,
                       double seconds) {
  RankRow row = computing(rank);
  row.state = State::kAsleep;
  row.call = std::move(call);
  row.peer = peer;
  row.waited_s = seconds;
  return row;
}

inline Picture picture(std::vector<RankRow> rows) {
  Picture picture;
  picture.acprun = 77;
  picture.ranks = static_cast<std::int64_t>(rows.size());
  picture.hosts = 1;
  picture.program = "./program";
  picture.age_s = 90;
  picture.rows = std::move(rows);
  return picture;
}

}  // namespace acp::top::rows
