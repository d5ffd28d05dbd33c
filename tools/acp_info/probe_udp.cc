// Tries a UDP socket. Called by the checks and the facts. Tools may not use
// udp/, which opens its sockets for a job.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/log.h"
#include "base/unique_fd.h"
#include "probes.h"

namespace acp::info {

namespace {

constexpr int kPatienceMs = 1'000;

union Address {
  sockaddr any;
  sockaddr_in v4;
  sockaddr_in6 v6;
};

/// Fills `address` and returns its length; 0 when the text is no IP address.
socklen_t parse(const std::string& text, Address& address) {
  std::memset(&address, 0, sizeof(address));
  if (::inet_pton(AF_INET, text.c_str(), &address.v4.sin_addr) == 1) {
    address.v4.sin_family = AF_INET;
    return sizeof(address.v4);
  }
  if (::inet_pton(AF_INET6, text.c_str(), &address.v6.sin6_addr) == 1) {
    address.v6.sin6_family = AF_INET6;
    return sizeof(address.v6);
  }
  return 0;
}

Probe failed(const char* what, const std::string& address) {
  return {false, fmt::format("{} {}: {}", what, address, errno_text(errno))};
}

}  // namespace

/// The kernel chooses the port; the datagram goes from the socket to itself.
Probe probe_udp(const std::string& text) {
  Address address{};
  socklen_t length = parse(text, address);
  if (length == 0) return {false, fmt::format("'{}' is no IP address", text)};
  const UniqueFd fd(
      ::socket(address.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd) return failed("socket for", text);
  if (::bind(fd.get(), &address.any, length) != 0 ||
      ::getsockname(fd.get(), &address.any, &length) != 0) {
    return failed("bind to", text);
  }
  char byte = 1;
  if (::sendto(fd.get(), &byte, 1, 0, &address.any, length) != 1) {
    return failed("send to", text);
  }
  pollfd readable{fd.get(), POLLIN, 0};
  if (::poll(&readable, 1, kPatienceMs) != 1 ||
      ::recv(fd.get(), &byte, 1, MSG_DONTWAIT) != 1) {
    return {false, fmt::format("a datagram to {} did not arrive", text)};
  }
  return {true, fmt::format("a datagram to {} arrives", text)};
}

}  // namespace acp::info
