// Runs the selected rows on all ranks in lock-step.
#pragma once

#include <vector>

#include "options.h"
#include "report.h"
#include "row.h"

namespace acp::perf {

/// After acp_init and Memory::open on every rank: finds out who can reach
/// what, makes the raw area. Collective. False: logged by the library or
/// printed here.
bool prepare(Context& context);

/// The rows that `options` asks for, together with those they are compared
/// with; indices into `rows`, in order.
std::vector<std::size_t> select_rows(const Context& context,
                                     const Rows& rows,
                                     const Options& options);

/// Runs them. Collective; the results are rank 0's.
std::vector<Result> run_rows(Context& context,
                             const Rows& rows,
                             const std::vector<std::size_t>& selected,
                             const Options& options);

}  // namespace acp::perf
