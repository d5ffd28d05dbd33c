// Times acp_reset for --resets; main.cc calls it on every rank. It is no row of
// the table, because a reset clears the memory that the other rows work in.
#include "resets.h"

#include <acp.h>

#include "timing.h"

namespace acp::perf {

namespace {

/// Times `count` calls in which all ranks meet. A failed call ends them.
template <typename Call>
Result time_meetings(const Row& row, int count, const Call& call) {
  Result result;
  result.row = &row;
  for (int i = 0; i < count && result.outcome.failure.empty(); ++i) {
    const std::int64_t before = now_ns();
    result.outcome = expect(call() == 0, "a call has failed");
    result.samples.add(static_cast<double>(now_ns() - before), 1);
  }
  return result;
}

}  // namespace

/// Every rank keeps its number, so that the ranks do the same work each time.
std::vector<Result> run_resets(const Options& options, Rows& rows) {
  rows = {{.name = "sync", .what = "acp_sync of all ranks"},
          {.name = "reset", .what = "acp_reset of all ranks"}};
  std::vector<Result> results;
  results.push_back(time_meetings(rows[0], options.resets, acp_sync));
  results.push_back(time_meetings(rows[1], options.resets,
                                  [] { return acp_reset(acp_rank()); }));
  results.back().raw = rows[0].name;
  return results;
}

}  // namespace acp::perf
