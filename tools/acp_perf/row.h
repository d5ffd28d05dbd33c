// What a row of the table is, and what it is given to run.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "memory.h"
#include "raw_area.h"
#include "samples.h"

namespace acp::perf {

/// How a row's nanoseconds per operation are shown.
enum class Unit : std::uint8_t {
  kTime,       ///< ns
  kRate,       ///< Mop/s
  kBandwidth,  ///< GB/s, 1e9 bytes
};

/// Which ranks take part in a row besides rank 0. The others wait in
/// acp_sync for its end.
enum class Partners : std::uint8_t { kNone, kRankOne, kAll };

/// What a row needs to be there; else it is skipped with a word why.
enum class Needs : std::uint8_t {
  kNothing,
  kPeer,       ///< Two ranks.
  kSameHost,   ///< Ranks 0 and 1 on one host.
  kAllOnHost,  ///< All ranks, and two at least.
};

/// Everything that a row works with. One per process; a row runs in all.
struct Context {
  int rank = 0;
  int procs = 1;
  int target = 0;  ///< Of one-sided operations: rank 1, or 0 alone.
  int third = 0;   ///< Destination of remote-to-remote: rank 2, or target.
  bool is_direct = false;        ///< Target's library memory is mapped here.
  bool is_rdma = false;          ///< The wire is an RDMA device.
  bool is_same_host = false;     ///< Ranks 0 and 1 share a host.
  bool are_all_on_host = false;  ///< All ranks do.
  std::string pinned = "no";     ///< For the head line.
  std::int64_t time_ns = 0;      ///< For measuring, this time.
  std::uint64_t row = 0;  ///< Counts the rows that ran; same on all ranks.
  Memory memory;
  RawArea area;
  Card peer{};  ///< The target's card; on rank 1, rank 0's.

  /// On a responder: the row has ended on rank 0.
  bool is_row_over() const;
};

/// What rank 0 found. An empty text is a success.
struct Verdict {
  std::string failure;  ///< Wrong data or a failed call.
  std::string skipped;  ///< Why it cannot run here.
};

struct Row {
  std::string name;
  std::string what;  ///< One line for --list.
  Unit unit = Unit::kTime;
  std::uint64_t bytes = 0;  ///< Of one operation, for bandwidths.
  Needs needs = Needs::kNothing;
  Partners partners = Partners::kNone;
  std::string raw_direct;   ///< Row to compare with when memory is mapped,
  std::string raw_network;  ///< and when a wire is between. May be empty.
  std::string raw_rdma;  ///< Instead of that on an RDMA device, if not empty.
  /// On rank 0: measures into `samples`, checks the data.
  std::function<Verdict(Context&, Samples&)> run;
  /// On the partners; returns when the row is over.
  std::function<void(Context&)> respond;
};

/// "" when `ok`, else `text`: the usual end of a row.
Verdict expect(bool ok, std::string_view text);

using Rows = std::vector<Row>;

}  // namespace acp::perf
