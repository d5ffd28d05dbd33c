// Runs the rows of acp_perf on all ranks together; main.cc calls it. Ranks meet
// in acp_sync before and after each row. All must skip the same rows, so no
// rank may decide by a fact of its own.
#include "runner.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <set>

#include "rows.h"

namespace acp::perf {

namespace {

// Bits of Word::kFacts, which rank 0 puts to all ranks.
constexpr std::uint64_t kDirect = 1;
constexpr std::uint64_t kSameHost = 2;
constexpr std::uint64_t kAllOnHost = 4;

/// A number that two processes share when they run under one kernel.
std::uint64_t boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string text;
  std::getline(file, text);
  return std::hash<std::string>{}(text);
}

/// ACP_NET is equal on all ranks.
Network network_of_job() {
  const char* net = std::getenv("ACP_NET");
  const std::string_view name = net != nullptr ? net : "";
  if (name == "ib" || name == "verbs") return Network::kRdma;
  return name == "ucx" ? Network::kUcx : Network::kOther;
}

const std::string& raw_of(const Context& context, const Row& row) {
  if (context.is_direct) return row.raw_direct;
  const std::string& own =
      context.network == Network::kUcx ? row.raw_ucp : row.raw_rdma;
  return context.network == Network::kOther || own.empty() ? row.raw_network
                                                           : own;
}

/// Why this row cannot run in this job; "" when it can.
std::string obstacle(const Context& context, const Row& row) {
  if (row.needs == Needs::kNothing) return {};
  if (context.procs < 2) return "needs two ranks";
  if (row.needs == Needs::kSameHost && !context.is_same_host) {
    return "needs ranks 0 and 1 on one host";
  }
  if (row.needs == Needs::kAllOnHost && !context.are_all_on_host) {
    return "needs all ranks on one host";
  }
  if (row.needs == Needs::kUcx && context.network != Network::kUcx) {
    return "needs a job over ucx (ACP_NET=ucx)";
  }
  return {};
}

bool takes_part(const Context& context, const Row& row) {
  switch (row.partners) {
    case Partners::kNone: return false;
    case Partners::kRankOne: return context.rank == 1;
    case Partners::kAll: return context.rank > 0;
  }
  return false;
}

void lead(Context& context, const Row& row, Result& result) {
  acp_errno = ACPX_OK;
  Samples samples;
  Outcome outcome = row.run(context, samples);
  if (acp_errno != ACPX_OK && outcome.failure.empty()) {
    outcome.failure = acpx_strerror(acp_errno);
  }
  if (row.partners == Partners::kRankOne && context.procs > 1) {
    context.memory.put_word(1, Word::kStop, context.row);
  }
  if (!samples.empty()) result.rounds.push_back(samples.percentile(0.5));
  result.samples.merge(samples);
  if (!outcome.failure.empty() || !outcome.skipped.empty()) {
    result.outcome = outcome;
  }
}

void run_row(Context& context, const Row& row, Result& result) {
  ++context.row;
  if (const std::string why = obstacle(context, row); !why.empty()) {
    result.outcome.skipped = why;
    return;
  }
  acp_sync();
  if (context.rank == 0) {
    lead(context, row, result);
  } else if (takes_part(context, row)) {
    row.respond(context);
  }
  acp_sync();
}

}  // namespace

/// Takes three steps with an acp_sync between them. Each rank publishes its
/// facts. Each rank then reads the facts of its peer and maps the raw area.
/// Rank 0 at last puts its findings to all ranks, so that all skip the same
/// rows.
bool prepare(Context& context) {
  Memory& memory = context.memory;
  RankFacts& own = memory.own_rank_facts();
  own.pid = getpid();
  own.boot_id = boot_id();
  own.area_fd = -1;
  own.host = own_host_address();
  if (context.rank == 0) {
    if (!context.area.create()) {
      std::perror("acp_perf: memory for the raw rows");
      return false;
    }
    own.area_fd = context.area.fd();
  }
  acp_sync();
  const int peer = context.rank == 0 ? context.target : 0;
  if (!memory.read_rank_facts(peer, context.peer)) return false;
  std::uint64_t facts = 0;
  const bool is_there =
      context.rank == 0 ||
      (context.peer.boot_id == own.boot_id &&
       context.area.attach(context.peer.pid, context.peer.area_fd));
  memory.put_word(context.rank, Word::kPhase, is_there ? 1 : 0);
  acp_sync();
  if (context.rank == 0) {
    const bool is_direct =
        acpx_pointer(memory.inbox(context.target)) != nullptr;
    const bool is_same_host =
        context.procs > 1 && memory.get_word(1, Word::kPhase) == 1;
    bool are_all_on_host = is_same_host;
    for (int rank = 2; rank < context.procs; ++rank) {
      are_all_on_host &= memory.get_word(rank, Word::kPhase) == 1;
    }
    facts = (is_direct ? kDirect : 0) | (is_same_host ? kSameHost : 0) |
            (are_all_on_host ? kAllOnHost : 0);
    for (int rank = 0; rank < context.procs; ++rank) {
      memory.put_word(rank, Word::kFacts, facts);
    }
  }
  acp_sync();
  facts = *memory.own_word(Word::kFacts);
  context.is_direct = (facts & kDirect) != 0;
  context.network = network_of_job();
  context.is_same_host = (facts & kSameHost) != 0;
  context.are_all_on_host = (facts & kAllOnHost) != 0;
  return true;
}

std::vector<std::size_t> select_rows(const Context& context,
                                     const Rows& rows,
                                     const Options& options) {
  const auto is_chosen = row_filter(options.rows);
  std::set<std::string> wanted;
  // Go backwards, since a raw row stands before the rows that compare with it
  // and may itself compare with a row before it.
  for (auto row = rows.rbegin(); row != rows.rend(); ++row) {
    if (wanted.count(row->name) != 0 || is_chosen(row->name)) {
      wanted.insert(row->name);
      wanted.insert(raw_of(context, *row));
    }
  }
  std::vector<std::size_t> selected;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (wanted.count(rows[i].name) != 0) selected.push_back(i);
  }
  return selected;
}

std::vector<Result> run_rows(Context& context,
                             const Rows& rows,
                             const std::vector<std::size_t>& selected,
                             const Options& options) {
  std::vector<Result> results(selected.size());
  for (std::size_t i = 0; i < selected.size(); ++i) {
    results[i].row = &rows[selected[i]];
    results[i].raw = raw_of(context, *results[i].row);
  }
  context.time_ns = options.time_ms * 1'000'000 / options.rounds;
  // Rounds spread disturbances of the machine over all rows.
  for (int round = 0; round < options.rounds; ++round) {
    for (Result& result : results) {
      run_row(context, *result.row, result);
    }
  }
  return results;
}

}  // namespace acp::perf
