// Converts addresses to and from sockaddr. Called by the sockets of udp, by
// verbs and by the list of interfaces. Pure.
#include "transport/socket_address.h"

#include <cstring>

namespace acp::transport {

SocketAddress from_system(const sockaddr& address) noexcept {
  SocketAddress copy{};
  std::memcpy(&copy, &address,
              address.sa_family == AF_INET6 ? sizeof copy.v6 : sizeof copy.v4);
  return copy;
}

SocketAddress to_socket(const Address& address) noexcept {
  SocketAddress out{};
  if (address.family == Family::kIpv4) {
    out.v4.sin_family = AF_INET;
    std::memcpy(&out.v4.sin_addr, address.bytes.data(), 4);
  } else {
    out.v6 = {};
    out.v6.sin6_family = AF_INET6;
    std::memcpy(&out.v6.sin6_addr, address.bytes.data(), 16);
  }
  set_port(out, address.port);
  return out;
}

Address to_address(const SocketAddress& address) noexcept {
  Address out;
  if (address.any.sa_family == AF_INET) {
    out.family = Family::kIpv4;
    out.port = ntohs(address.v4.sin_port);
    std::memcpy(out.bytes.data(), &address.v4.sin_addr, 4);
  } else if (address.any.sa_family == AF_INET6) {
    out.family = Family::kIpv6;
    out.port = ntohs(address.v6.sin6_port);
    std::memcpy(out.bytes.data(), &address.v6.sin6_addr, 16);
  }
  return out;
}

socklen_t socket_bytes(const SocketAddress& address) noexcept {
  return address.any.sa_family == AF_INET6 ? sizeof address.v6
                                           : sizeof address.v4;
}

void set_port(SocketAddress& address, std::uint16_t port) noexcept {
  if (address.any.sa_family == AF_INET) {
    address.v4.sin_port = htons(port);
  } else {
    address.v6.sin6_port = htons(port);
  }
}

}  // namespace acp::transport
