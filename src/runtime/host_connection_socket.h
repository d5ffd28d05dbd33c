// The TCP sockets of connections between hosts (host_connections.h): how they
// are made, and how the kernel notices a host that is silent. Called by
// HostConnections and HostConnection.
#pragma once

#include <cstdint>
#include <string>

#include "base/unique_fd.h"
#include "runtime/wait_limit.h"

namespace acp::runtime {

/// Takes connections at a port of the system's choice. Move-only.
struct HostListener {
  UniqueFd socket;  ///< Non-blocking. Empty: it failed, and errno says why.
  std::uint16_t port = 0;
};

HostListener open_host_listener();

/// Connects to a numeric address, and waits up to 5 s or the limit for that.
/// The socket is non-blocking. Empty, with errno: there is no connection.
UniqueFd open_host_connection(const std::string& address,
                              std::uint16_t port,
                              const WaitLimit& limit);

/// Lets the kernel end the connection when the other host is silent for 10 s.
void watch_for_silence(int socket) noexcept;

/// The address of the other end, numeric; empty when the connection is over
/// already.
std::string address_of_peer(int socket);

}  // namespace acp::runtime
