// How long acp_reset takes in a job, beside acp_sync of the same ranks.
#pragma once

#include "options.h"
#include "report.h"

namespace acp::perf {

/// Measures two rows, `sync` and `reset`, by as many calls of each as
/// options.resets says. Every rank calls it between acp_init and acp_finalize,
/// and rank 0's times count. The results point into `rows`, which must outlive
/// them.
std::vector<Result> run_resets(const Options& options, Rows& rows);

}  // namespace acp::perf
