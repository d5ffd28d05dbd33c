// The head line of a report: the machine and job that the figures belong to.
#pragma once

#include "report.h"

namespace acp::perf {

/// Version, processor, and number of online processors.
Machine describe_machine();

/// The machine, and the job's ranks, network, path to the target and pinning.
Machine describe_job(const Context& context);

}  // namespace acp::perf
