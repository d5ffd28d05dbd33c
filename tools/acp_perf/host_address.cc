// Chooses an interface from getifaddrs. Called by prepare() and PairSocket. It
// opens no socket and sends nothing.
#include "host_address.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace acp::perf {

namespace {

/// The number of the network namespace is unique on one kernel only.
std::uint64_t network_number() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string kernel;
  std::getline(file, kernel);

  struct stat space {};

  (void)::stat("/proc/self/ns/net", &space);
  return std::hash<std::string>{}(kernel + ' ' + std::to_string(space.st_ino));
}

bool is_in_list(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    const std::string_view item = list.substr(0, list.find(','));
    if (item == name) {
      return true;
    }
    list.remove_prefix(std::min(item.size() + 1, list.size()));
  }
  return false;
}

/// The higher the better; 0: not usable.
int merit_of(const ifaddrs& one, std::string_view allowed) {
  const bool is_usable = one.ifa_addr != nullptr &&
                         (one.ifa_flags & IFF_UP) != 0 &&
                         (one.ifa_flags & IFF_LOOPBACK) == 0 &&
                         (allowed.empty() || is_in_list(allowed, one.ifa_name));
  if (!is_usable) {
    return 0;
  }
  if (one.ifa_addr->sa_family == AF_INET) {
    return 3;
  }
  if (one.ifa_addr->sa_family != AF_INET6) {
    return 0;
  }
  const auto& v6 = *reinterpret_cast<const sockaddr_in6*>(one.ifa_addr);
  return IN6_IS_ADDR_LINKLOCAL(&v6.sin6_addr) ? 1 : 2;
}

SocketAddress loopback() {
  SocketAddress address{};
  address.v4.sin_family = AF_INET;
  address.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

SocketAddress from_system(const sockaddr& any) {
  SocketAddress address{};
  if (any.sa_family == AF_INET) {
    address.v4 = reinterpret_cast<const sockaddr_in&>(any);
  } else {
    address.v6 = reinterpret_cast<const sockaddr_in6&>(any);
  }
  return address;
}

}  // namespace

HostAddress own_host_address() {
  HostAddress host{network_number(), {}};
  const char* setting = std::getenv("ACP_UDP_INTERFACES");
  const std::string_view allowed = setting == nullptr ? "" : setting;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) {
    return host;
  }
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(
      list, &::freeifaddrs);
  int best = 0;
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    if (const int merit = merit_of(*one, allowed); merit > best) {
      best = merit;
      host.address = from_system(*one->ifa_addr);
    }
  }
  return host;
}

/// The scope of a link-local address is a number of this host, also for the
/// address of another one.
SocketAddress address_between(const HostAddress& own,
                              const HostAddress& peer,
                              const HostAddress& host) {
  if (own.network == peer.network) {
    return loopback();
  }
  SocketAddress address = host.address;
  if (address.any.sa_family == AF_INET6) {
    address.v6.sin6_scope_id = own.address.v6.sin6_scope_id;
  }
  return address;
}

socklen_t size_of(const SocketAddress& address) noexcept {
  return address.any.sa_family == AF_INET6 ? sizeof address.v6
                                           : sizeof address.v4;
}

}  // namespace acp::perf
