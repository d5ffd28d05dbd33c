// What the host tells about itself.
#pragma once

#include <cstdint>
#include <string>

namespace acp {

/// Cores that this process may use at a time: its affinity, and the quota of
/// its control group. At least 1.
std::uint32_t allowed_cores();

/// The host's name, or "localhost" when it has none.
std::string host_name();

}  // namespace acp
