// Lines of HMPI, in the form of ACP's own, with rank and host.
#pragma once

#include <string>

#include "acp/extension.h"

namespace hmpi {

inline void log(acpx_log_level_t level, const std::string& text) {
  acpx_log(level, ("HMPI: " + text).c_str());
}

}  // namespace hmpi
