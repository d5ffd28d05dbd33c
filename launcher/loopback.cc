// Tells loopback addresses. Called by route.cc and machines.cc. It makes no
// system call: the bytes of the address decide.
#include "launcher/loopback.h"

#include <netinet/in.h>

namespace acp::launcher {

bool is_loopback(const sockaddr* address) noexcept {
  if (address->sa_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(address);
    return (ntohl(v4->sin_addr.s_addr) >> 24) == IN_LOOPBACKNET;
  }
  const auto* v6 = reinterpret_cast<const sockaddr_in6*>(address);
  return address->sa_family == AF_INET6 &&
         IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr) != 0;
}

}  // namespace acp::launcher
