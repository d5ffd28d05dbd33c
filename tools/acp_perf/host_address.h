// Where another rank's raw UDP socket is: on the loopback, or at an address of
// its host.
#pragma once

#include <netinet/in.h>

#include <cstdint>

namespace acp::perf {

/// An IPv4 or IPv6 address with a port. All zeros: none.
union SocketAddress {
  sockaddr any;
  sockaddr_in v4;
  sockaddr_in6 v6;
};

/// The network of a rank's host. Each rank publishes its own.
struct HostAddress {
  std::uint64_t network;  ///< Equal for ranks that share a loopback.
  SocketAddress address;  ///< An interface has it. The port is 0.
};

/// The address is that of the first interface that is up and not the loopback.
/// It is an IPv4 address if there is one, else an IPv6 address of global scope,
/// else a link-local one. ACP_UDP_INTERFACES, a list of names between commas,
/// limits the choice.
HostAddress own_host_address();

/// Chooses, for a socket between this rank and a peer, between the loopback and
/// the address of `host`, one of both. Port 0.
SocketAddress address_between(const HostAddress& own,
                              const HostAddress& peer,
                              const HostAddress& host);

/// Bytes of the structure that the address's family has.
socklen_t size_of(const SocketAddress& address) noexcept;

}  // namespace acp::perf
