// A row of the table, and the context in which every row runs.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
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
  kTimes,      ///< How many times as large; a sample is the figure.
};

/// Ranks that take part in a row besides rank 0. All other ranks wait in
/// acp_sync for the end of the row.
enum class Partners : std::uint8_t { kNone, kRankOne, kAll };

/// Condition for a row to run. A row without its condition is skipped, and the
/// report says why.
enum class Needs : std::uint8_t {
  kNothing,
  kPeer,       ///< Two ranks.
  kSameHost,   ///< Ranks 0 and 1 on one host.
  kAllOnHost,  ///< All ranks, and two at least.
  kUcx,        ///< Two ranks in a job over ucx.
};

/// The network that ACP_NET asks for, as far as raw rows differ by it.
enum class Network : std::uint8_t { kOther, kRdma, kUcx };

/// Everything that a row works with; there is one Context per process.
/// prepare() and main.cc write it before the first row; `row` grows with each
/// row.
struct Context {
  int rank = 0;
  int procs = 1;
  int target = 0;  ///< Target of one-sided operations: rank 1, or 0 if alone.
  int third = 0;   ///< Destination of remote-to-remote: rank 2, or target.
  bool is_direct = false;  ///< Target's library memory is mapped here.
  Network network = Network::kOther;
  bool is_same_host = false;     ///< Ranks 0 and 1 share a host.
  bool are_all_on_host = false;  ///< All ranks share a host.
  std::string pinned = "no";     ///< Text of pin_rank for the head line.
  std::int64_t time_ns = 0;      ///< Time to measure a row in this round.
  std::uint64_t row = 0;  ///< Counts the rows that ran; equal on all ranks.
  Memory memory;
  RawArea area;
  RankFacts peer{};  ///< Copy from the target; on other ranks, from rank 0.

  /// Responders call it: true when rank 0 has ended the row.
  bool is_row_over() const;
};

/// The outcome of a row on rank 0. Both texts empty mean success.
struct Outcome {
  std::string failure;  ///< Wrong data or a failed call.
  std::string skipped;  ///< Why it cannot run here.
};

/// A row is data: the files rows_*.cc list theirs, and no code but run and
/// respond knows one row from another.
struct Row {
  std::string name{};
  std::string what{};  ///< One line for --list.
  Unit unit = Unit::kTime;
  std::uint64_t bytes = 0;  ///< Bytes of one operation, for bandwidths.
  std::uint64_t plotted_at =
      0;  ///< Size or window of a row of --sweep, else 0.
  Needs needs = Needs::kNothing;
  Partners partners = Partners::kNone;
  std::string raw_direct{};   ///< Raw row if the target's memory is mapped.
  std::string raw_network{};  ///< Raw row if messages go to the target, or "".
  std::string raw_rdma{};     ///< Replaces raw_network in a verbs job, or "".
  std::string raw_ucp{};      ///< Replaces raw_network in a ucx job, or "".
  /// On rank 0: measures into `samples`, checks the data.
  std::function<Outcome(Context&, Samples&)> run{};
  /// On the partners; returns when the row is over.
  std::function<void(Context&)> respond{};
};

/// A failure with this text unless `ok`: the usual end of a row.
Outcome expect(bool ok, std::string_view text);

using Rows = std::vector<Row>;

/// Appends rows to the table.
inline void append(Rows& rows, std::initializer_list<Row> more) {
  rows.insert(rows.end(), more);
}

}  // namespace acp::perf
