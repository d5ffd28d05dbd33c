// The head line of a report: what the figures were measured on.
#pragma once

#include "report.h"

namespace acp::perf {

/// Processor, cores that this process may use, version.
Machine describe_machine();

/// The same, and ranks, network and path of the job.
Machine describe_job(const Context& context);

}  // namespace acp::perf
