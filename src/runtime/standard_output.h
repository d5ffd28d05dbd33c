// The rank's standard output, which a launcher collects through a pipe.
// acp_init sets it up before the program can have printed much.
#pragma once

#include "settings/settings.h"

namespace acp::runtime {

/// Makes C's stdout line-buffered, so that each line leaves the process when it
/// is written. C fully buffers a stdout that is a pipe. The lines of a rank
/// would then reach the terminal at its end only. A rank that is killed would
/// lose up to 4 KiB of them. ACP_STDOUT=program changes nothing. std::cout and
/// Python's and Fortran's own buffers: docs/launcher.md.
void buffer_output_by_line(const Settings& settings) noexcept;

/// Writes out the text that is left in stdout's buffer, unless another thread
/// is writing at this moment. A thread that ends the job must not wait for it,
/// and waits at most half a second for the reader of stdout.
void flush_output() noexcept;

}  // namespace acp::runtime
