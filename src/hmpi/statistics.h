// HMPI_STATS: the messages of all processes by protocol, at MPI_Finalize.
#pragma once

#include <string>

#include "hmpi/job.h"

namespace hmpi {

/// Adds up the counters of all processes of the world. Rank 0 writes them: a
/// table to standard error if `where` is "on", else JSON to the file `where`.
/// Collective.
void write_statistics(const Job& job, const std::string& where);

}  // namespace hmpi
