// Ends the job when HMPI cannot go on, by PMPI_Abort. The engine calls no
// function of MPI, so the part above sets the function.
#pragma once

#include <string>

namespace hmpi {

using EndJob = void (*)();

void set_end_job(EndJob end) noexcept;

/// Writes one line, "HMPI: " and the text, and ends the job.
[[noreturn]] void end_job(const std::string& text);

}  // namespace hmpi
