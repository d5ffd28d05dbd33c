// Lines of HMPI, in the form of ACP's own, with rank and host.
#pragma once

#include <array>
#include <string>

#include "acp/extension.h"

namespace hmpi {

inline void log(acpx_log_level_t level, const std::string& text) {
  acpx_log(level, ("HMPI: " + text).c_str());
}

/// Rank, host and pid, for lines that are written without ACP and without
/// allocation. MPI_Init writes it.
inline std::array<char, 160> g_who{"a process"};

}  // namespace hmpi
