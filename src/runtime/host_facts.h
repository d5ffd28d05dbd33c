// What the host tells about itself.
#pragma once

#include <cstdint>
#include <string>

namespace acp::runtime {

/// Cores that this process may use at a time: its affinity, and the quota of
/// its control group. At least 1.
std::uint32_t allowed_cores();

/// The host's name, or "unknown".
std::string host_name();

}  // namespace acp::runtime
