// Finds an address of another host: its name, if that is a number, or the
// resolver's answer, which a child process waits for. Called once on each host,
// before its ranks start, and by plans of jobs on several hosts. The caller may
// not wait longer than the limit, because getaddrinfo has none.
#include "launcher/route.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>

#include "base/log.h"
#include "base/unique_fd.h"
#include "launcher/child_answer.h"
#include "launcher/loopback.h"
#include "protocol/host_segment.h"

namespace acp::launcher {

namespace {

/// `flags` as for getaddrinfo. With AI_NUMERICHOST it asks nobody.
Route route_of(const std::string& name, int flags) {
  addrinfo hints{};
  hints.ai_flags = flags;
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  const int failure = ::getaddrinfo(name.c_str(), nullptr, &hints, &found);
  if (failure != 0) return {"", name + ": " + ::gai_strerror(failure)};
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(
      found, ::freeaddrinfo);
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    std::array<char, NI_MAXHOST> text{};
    if (!is_loopback(one->ai_addr) &&
        ::getnameinfo(one->ai_addr, one->ai_addrlen, text.data(), text.size(),
                      nullptr, 0, NI_NUMERICHOST) == 0) {
      return {text.data(), ""};
    }
  }
  return {"", name + ": its address is loopback"};
}

bool is_usable(const Route& route) {
  return !route.address.empty() && route.address.size() < protocol::kRouteBytes;
}

/// Without an address, the first name's reason is kept.
Route find_route(const std::vector<std::string>& names,
                 const std::string& own) {
  Route first;
  for (const std::string& name : names) {
    if (name == own) continue;
    Route route = route_of(name, 0);
    if (is_usable(route)) return route;
    if (first.why_unknown.empty()) first.why_unknown = route.why_unknown;
  }
  return first;
}

/// First byte of the child's answer.
constexpr char kIsAddress = '=';
constexpr char kIsReason = '!';

}  // namespace

/// A number needs no resolver, so a host with a slow one, or too busy to start
/// a child in time, still joins. A child process asks the resolver, because
/// getaddrinfo has no time limit.
Route route_to(const std::vector<std::string>& names, const std::string& own) {
  const auto other = std::ranges::find_if(
      names, [&](const std::string& name) { return name != own; });
  if (other == names.end()) return {};
  if (Route number = route_of(*other, AI_NUMERICHOST); is_usable(number)) {
    return number;
  }
  const ChildAnswer answer = answer_of_child(
      [&](int fd) {
        const Route route = find_route(names, own);
        const std::string text = !route.address.empty()
                                     ? kIsAddress + route.address
                                     : kIsReason + route.why_unknown;
        [[maybe_unused]] const ssize_t n =
            ::write(fd, text.data(), text.size());
      },
      kResolveLimit);
  if (answer.error != 0) return {"", errno_text(answer.error)};
  const std::string& text = answer.bytes;
  if (text.empty()) {
    return {"", answer.is_late ? "the resolver of names does not answer" : ""};
  }
  return text.front() == kIsAddress ? Route{text.substr(1), ""}
                                    : Route{"", text.substr(1)};
}

/// connect() on a UDP socket only looks up the route.
std::string own_address_towards(const std::string& name) {
  const std::string other = route_to({name}, "").address;
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (other.empty() || ::getaddrinfo(other.c_str(), "9", &hints, &found) != 0) {
    return "";
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(
      found, ::freeaddrinfo);
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  auto* address = reinterpret_cast<sockaddr*>(&own);
  const UniqueFd fd(::socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  std::array<char, NI_MAXHOST> text{};
  const bool is_known =
      fd && ::connect(fd.get(), found->ai_addr, found->ai_addrlen) == 0 &&
      ::getsockname(fd.get(), address, &size) == 0 && !is_loopback(address) &&
      ::getnameinfo(address, size, text.data(), text.size(), nullptr, 0,
                    NI_NUMERICHOST) == 0;
  return is_known ? text.data() : "";
}

}  // namespace acp::launcher
