// Conversion between Address and the sockaddr forms of sockets and rdma_cm.
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

/// The sockaddr of an IPv4 or IPv6 address.
SocketAddress from_system(const sockaddr& address) noexcept;
SocketAddress to_socket(const Address& address) noexcept;

/// The address in a sockaddr. Its family is Family::kNone when the sockaddr is
/// neither IPv4 nor IPv6.
Address to_address(const SocketAddress& address) noexcept;

/// The size of the sockaddr in bytes, which depends on the family.
socklen_t socket_bytes(const SocketAddress& address) noexcept;

/// The port of a sockaddr, in host byte order.
void set_port(SocketAddress& address, std::uint16_t port) noexcept;

}  // namespace acp::transport
