// Compares a name with the host's names and addresses. Called by make_plan and
// place_ranks. It may fork a child that asks the resolver, and wait for the
// answer. So it is called before a second thread starts, and by no event loop.
#include "launcher/this_host.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <strings.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <string>

#include "base/host_facts.h"
#include "launcher/child_answer.h"

namespace acp::launcher {

namespace {

bool equals(std::string_view a, std::string_view b) {
  return a.size() == b.size() &&
         ::strncasecmp(a.data(), b.data(), a.size()) == 0;
}

std::string_view first_label(std::string_view name) {
  return name.substr(0, name.find('.'));
}

/// The name with domain that the resolver gives for `own`, or "".
std::string resolved_name(const std::string& own) {
  addrinfo hints{};
  hints.ai_flags = AI_CANONNAME;
  addrinfo* found = nullptr;
  if (::getaddrinfo(own.c_str(), nullptr, &hints, &found) != 0) {
    return "";
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(
      found, ::freeaddrinfo);
  return found->ai_canonname == nullptr ? "" : found->ai_canonname;
}

/// A child process asks, because getaddrinfo has no time limit. A name without
/// an answer is that of another host.
bool is_resolved_name(const std::string& own, std::string_view name) {
  const ChildAnswer answer = answer_of_child(
      [&own](int fd) {
        const std::string text = resolved_name(own);
        [[maybe_unused]] const ssize_t n =
            ::write(fd, text.data(), text.size());
      },
      kResolveLimit);
  return equals(answer.bytes, name);
}

bool is_same_address(const sockaddr* address, const std::string& text) {
  if (address == nullptr) {
    return false;
  }
  if (address->sa_family == AF_INET) {
    in_addr wanted{};
    return ::inet_pton(AF_INET, text.c_str(), &wanted) == 1 &&
           reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr ==
               wanted.s_addr;
  }
  if (address->sa_family == AF_INET6) {
    in6_addr wanted{};
    return ::inet_pton(AF_INET6, text.c_str(), &wanted) == 1 &&
           std::memcmp(
               &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr,
               &wanted, sizeof wanted) == 0;
  }
  return false;
}

/// Loopback addresses need no look at the interfaces.
bool is_own_address(const std::string& text) {
  in_addr v4{};
  in6_addr v6{};
  const bool is_v4 = ::inet_pton(AF_INET, text.c_str(), &v4) == 1;
  if (is_v4 && (ntohl(v4.s_addr) >> 24) == IN_LOOPBACKNET) {
    return true;
  }
  if (!is_v4 && ::inet_pton(AF_INET6, text.c_str(), &v6) != 1) {
    return false;
  }
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) {
    return false;
  }
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list,
                                                                 ::freeifaddrs);
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (is_same_address(entry->ifa_addr, text)) {
      return true;
    }
  }
  return false;
}

}  // namespace

bool is_this_host(std::string_view name) {
  const std::string own = host_name();
  if (equals(name, "localhost") || equals(name, own) || name == "::1") {
    return true;
  }
  if (is_own_address(std::string(name))) {
    return true;
  }
  if (!equals(first_label(name), first_label(own))) {
    return false;
  }
  const bool is_short = name.find('.') == std::string_view::npos;
  return is_short || is_resolved_name(own, name);
}

}  // namespace acp::launcher
