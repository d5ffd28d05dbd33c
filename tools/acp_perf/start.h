// How long a job takes from the start of acprun to its end, when the program
// only calls acp_init and acp_finalize.
#pragma once

#include "options.h"
#include "report.h"

namespace acp::perf {

/// For each number in options.start a row, and a raw one that starts as many
/// processes without ACP. `rows` holds what the results point to.
std::vector<Result> run_starts(const Options& options, Rows& rows);

}  // namespace acp::perf
