// The messages by protocol, at MPI_Finalize: HMPI_STATS and acprun's report.
#pragma once

#include <string>

#include "hmpi/job.h"

namespace hmpi {

/// Gives the counters of this process to the report of ACP's job, which has
/// them where the job counts (acpx_count).
void show_statistics(const Job& job);

/// Adds up the counters of all processes of the world. Rank 0 writes them: a
/// table to standard error if `where` is "on", else JSON to the file `where`.
/// Collective.
void write_statistics(const Job& job, const std::string& where);

}  // namespace hmpi
