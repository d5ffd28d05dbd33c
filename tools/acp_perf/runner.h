// Runs the selected rows on all ranks in lock-step.
#pragma once

#include <vector>

#include "options.h"
#include "report.h"
#include "row.h"

namespace acp::perf {

/// Makes the raw area and finds out which memory the ranks can reach. Every
/// rank calls it together after acp_init and Memory::open. On false the library
/// has logged the reason, or it was printed here.
bool prepare(Context& context);

/// The rows that `options` asks for, and the rows to compare them with: indices
/// into `rows`, in order.
std::vector<std::size_t> select_rows(const Context& context,
                                     const Rows& rows,
                                     const Options& options);

/// Runs the selected rows; every rank calls it together. Only rank 0's results
/// have samples.
std::vector<Result> run_rows(Context& context,
                             const Rows& rows,
                             const std::vector<std::size_t>& selected,
                             const Options& options);

}  // namespace acp::perf
