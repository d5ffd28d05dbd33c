// Lists the interfaces of this host and chooses among their addresses. Called
// while udp and verbs open, by job_record.cc and by acp_info. Opens one socket
// for a moment to learn a route; sends nothing.
#include "transport/interfaces.h"

#include <fmt/core.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>

#include "base/log.h"
#include "base/unique_fd.h"
#include "transport/socket_address.h"

namespace acp::transport {

namespace {

/// A part of the address space, such as 10.1.0.0/16.
struct Subnet {
  Address base;
  unsigned bits = 0;

  bool has(const Address& address) const noexcept {
    if (address.family != base.family) {
      return false;
    }
    unsigned rest = bits;
    for (std::size_t i = 0; rest > 0; ++i) {
      const unsigned here = std::min(rest, 8U);
      const auto mask = static_cast<std::uint8_t>(0xFFU << (8 - here));
      if (((address.bytes[i] ^ base.bytes[i]) & mask) != 0) {
        return false;
      }
      rest -= here;
    }
    return true;
  }
};

/// Nothing for a text without "/" or with a wrong part.
std::optional<Subnet> parse_subnet(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) {
    return std::nullopt;
  }
  const auto base = parse_address(text.substr(0, slash));
  const std::string_view digits = text.substr(slash + 1);
  unsigned bits = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), bits);
  const bool is_number = error == std::errc() && !digits.empty() &&
                         end == digits.data() + digits.size();
  if (!base || !is_number ||
      bits > (base->family == Family::kIpv4 ? 32U : 128U)) {
    return std::nullopt;
  }
  return Subnet{*base, bits};
}

/// The best address of an interface comes first: IPv4, then IPv6, and a
/// link-local one last, since it reaches no other network.
int rank_of(const Address& address) noexcept {
  if (address.family == Family::kIpv4) {
    return 0;
  }
  return is_link_local(address) ? 2 : 1;
}

std::optional<LocalAddress> find_interface(
    std::string_view name, std::span<const LocalAddress> known) {
  std::optional<LocalAddress> best;
  for (const LocalAddress& one : known) {
    if (one.interface == name &&
        (!best || rank_of(one.address) < rank_of(best->address))) {
      best = one;
    }
  }
  return best;
}

/// An address may carry its interface, as in fe80::1%eth0.
std::optional<LocalAddress> find_address(std::string_view text,
                                         std::span<const LocalAddress> known) {
  const std::size_t percent = text.find('%');
  const auto address = parse_address(text.substr(0, percent));
  if (!address) {
    return std::nullopt;
  }
  for (const LocalAddress& one : known) {
    if (one.address == *address &&
        (percent == std::string_view::npos ||
         one.interface == text.substr(percent + 1))) {
      return one;
    }
  }
  const bool is_v4_loopback =
      address->family == Family::kIpv4 && is_loopback(*address);
  return is_v4_loopback ? std::optional(LocalAddress{*address, 0, "lo", 0})
                        : std::nullopt;
}

std::optional<LocalAddress> find_one(std::string_view item,
                                     std::span<const LocalAddress> known) {
  if (const auto subnet = parse_subnet(item)) {
    const auto found = std::ranges::find_if(
        known,
        [&](const LocalAddress& one) { return subnet->has(one.address); });
    return found == known.end() ? std::nullopt : std::optional(*found);
  }
  const auto address = find_address(item, known);
  return address ? address : find_interface(item, known);
}

std::string list_of(std::span<const LocalAddress> known) {
  std::string text;
  for (const LocalAddress& one : known) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", one.interface,
                        format_address(one.address));
  }
  return text;
}

/// 0 when the system does not say. The kernel is not asked about an interface
/// without a name, because it would start modprobe.
std::uint32_t mtu_of(const std::string& interface) {
  if (interface.empty()) {
    return 0;
  }
  const UniqueFd fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  interface.copy(request.ifr_name, sizeof request.ifr_name - 1);
  return fd && ::ioctl(fd.get(), SIOCGIFMTU, &request) == 0
             ? static_cast<std::uint32_t>(request.ifr_mtu)
             : 0;
}

/// The scope of a link-local address is the index of its interface.
LocalAddress local_address(const sockaddr& address, std::string_view name) {
  SocketAddress system = from_system(address);
  LocalAddress local;
  local.scope = system.any.sa_family == AF_INET6 ? system.v6.sin6_scope_id : 0;
  set_port(system, 0);
  local.address = to_address(system);
  local.interface = name;
  local.mtu = mtu_of(local.interface);
  return local;
}

}  // namespace

bool is_link_local(const Address& address) noexcept {
  return address.family == Family::kIpv6 && address.bytes[0] == 0xFE &&
         (address.bytes[1] & 0xC0) == 0x80;
}

/// Entries of other families are left out; getifaddrs has one for the link
/// layer of each interface, and one without an address for a tunnel.
Result<std::vector<LocalAddress>> list_local_addresses() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) {
    log_error("listing the interfaces of this host: {}", errno_text(errno));
    return Status::kSystem;
  }
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(
      list, &::freeifaddrs);
  std::vector<LocalAddress> found;
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    const bool is_usable = one->ifa_addr != nullptr &&
                           (one->ifa_flags & IFF_UP) != 0 &&
                           (one->ifa_addr->sa_family == AF_INET ||
                            one->ifa_addr->sa_family == AF_INET6);
    if (is_usable) {
      found.push_back(local_address(*one->ifa_addr, one->ifa_name));
    }
  }
  return found;
}

/// Each item adds exactly one address, so the n-th item names the address of
/// color n. An empty item matches nothing and is refused with the rest.
Result<std::vector<LocalAddress>> choose_addresses(
    std::string_view setting,
    std::string_view text,
    std::span<const LocalAddress> known) {
  std::vector<LocalAddress> chosen;
  std::string_view rest = text;
  for (bool is_last = false; !is_last;) {
    const std::size_t comma = rest.find(',');
    is_last = comma == std::string_view::npos;
    const std::string_view item = rest.substr(0, comma);
    const auto found = find_one(item, known);
    if (!found) {
      log_error(
          "{}: \"{}\" is no interface, address or subnet of this host, which "
          "has {}",
          setting, item, list_of(known));
      return Status::kBadOption;
    }
    chosen.push_back(*found);
    rest = is_last ? "" : rest.substr(comma + 1);
  }
  return chosen;
}

/// connect() on a UDP socket only looks up the route, and getsockname() then
/// tells which of the host's addresses that route begins at.
Result<LocalAddress> address_towards(const std::string& remote) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* list = nullptr;
  const int error = ::getaddrinfo(remote.c_str(), "9", &hints, &list);
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(
      list, &::freeaddrinfo);
  if (error != 0) {
    log_error("{}, the address of another host of this job: {}", remote,
              ::gai_strerror(error));
    return Status::kSystem;
  }
  SocketAddress own{};
  socklen_t size = sizeof own;
  const UniqueFd fd(::socket(list->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd || ::connect(fd.get(), list->ai_addr, list->ai_addrlen) != 0 ||
      ::getsockname(fd.get(), &own.any, &size) != 0) {
    log_error(
        "no route to {}, another host of this job: {}; look at ip route get "
        "{}, or set ACP_UDP_INTERFACES",
        remote, errno_text(errno), remote);
    return Status::kSystem;
  }
  const auto known = list_local_addresses();
  if (!known.ok()) {
    return known.status();
  }
  const LocalAddress found = local_address(own.any, "");
  const auto same = std::ranges::find_if(*known, [&](const LocalAddress& one) {
    return one.address == found.address && one.scope == found.scope;
  });
  return same == known->end() ? found : *same;
}

}  // namespace acp::transport
