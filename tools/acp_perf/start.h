// How long a job takes from the start of acprun to its end, when the program
// only calls acp_init and acp_finalize.
#pragma once

#include "options.h"
#include "report.h"

namespace acp::perf {

/// Measures two rows for each number in options.start: a raw row, which starts
/// as many processes without ACP, and a row of acprun. The results point into
/// `rows`, which must outlive them.
std::vector<Result> run_starts(const Options& options, Rows& rows);

}  // namespace acp::perf
