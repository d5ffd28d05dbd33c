// Addresses as the system's sockets and rdma_cm want them.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include "transport/address.h"

namespace acp::transport {

union SocketAddress {
  sockaddr any;
  sockaddr_in v4;
  sockaddr_in6 v6;
};

/// Of an IPv4 or IPv6 address.
SocketAddress from_system(const sockaddr& address) noexcept;
SocketAddress to_socket(const Address& address) noexcept;

/// No address when the family is neither.
Address to_address(const SocketAddress& address) noexcept;

/// The bytes of its family's form.
socklen_t socket_bytes(const SocketAddress& address) noexcept;

/// Host byte order.
void set_port(SocketAddress& address, std::uint16_t port) noexcept;

}  // namespace acp::transport
