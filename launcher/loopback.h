// Loopback addresses, as the resolver gives them.
#pragma once

#include <sys/socket.h>

namespace acp::launcher {

/// Whether an address of IPv4 or IPv6 leads to this host alone. Pure.
bool is_loopback(const sockaddr* address) noexcept;

}  // namespace acp::launcher
