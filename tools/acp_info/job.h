// acp_info --job: tells what a job uses, from inside of it.
#pragma once

namespace acp::info {

enum class JobFormat : bool { kText, kJson };

/// Joins the job, and rank 0 prints one table for all ranks. Collective: every
/// rank calls it once. Takes the library's own words out of the arguments, as
/// acp_init does. Returns the exit status: 1 when the job cannot start, with
/// the reason logged.
int print_job(int& argc, char**& argv, JobFormat format);

}  // namespace acp::info
