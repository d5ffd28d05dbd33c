// Addresses as the system and rdma_cm want them.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include "transport/address.h"

namespace acp::verbs {

union SocketAddress {
  sockaddr any;
  sockaddr_in v4;
  sockaddr_in6 v6;
};

/// An IPv4 or IPv6 address.
SocketAddress from_system(const sockaddr& address) noexcept;

SocketAddress to_socket(const transport::Address& address) noexcept;
transport::Address to_address(const SocketAddress& address) noexcept;
/// Host byte order.
void set_port(SocketAddress& address, std::uint16_t port) noexcept;

}  // namespace acp::verbs
