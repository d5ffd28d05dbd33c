// Tells whether a name means the host that acprun runs on.
#pragma once

#include <string_view>

namespace acp::launcher {

/// True for localhost, loopback addresses, the host's name with or without
/// domain, and the addresses of its interfaces. Asks the resolver only for a
/// name with a domain whose first part is the host's name. Waits two seconds at
/// most for the answer. Call it while the process has one thread.
bool is_this_host(std::string_view name);

}  // namespace acp::launcher
