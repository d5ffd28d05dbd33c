// The command that mpirun starts instead of the program: it meets its seat
// and runs the program as a rank of the job.
#pragma once

#include <span>
#include <string>

#include "settings/settings.h"

namespace acp::launcher {

/// `words` are those behind "--join": token, first rank, number of processes,
/// the program and its arguments. Returns the exit status of the program, where
/// it does not end by the program's signal.
int run_join(std::span<const std::string> words,
             const Settings::Lookup& lookup);

}  // namespace acp::launcher
