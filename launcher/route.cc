// Asks the resolver for an address of another host. Called once on each host,
// before its ranks start.
#include "launcher/route.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <memory>

#include "base/log.h"
#include "base/unique_fd.h"
#include "protocol/host_segment.h"

namespace acp::launcher {

namespace {

bool is_loopback(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(address);
    return (ntohl(v4->sin_addr.s_addr) >> 24) == IN_LOOPBACKNET;
  }
  const auto* v6 = reinterpret_cast<const sockaddr_in6*>(address);
  return address->sa_family == AF_INET6 &&
         IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr) != 0;
}

Route route_of(const std::string& name) {
  addrinfo hints{};
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

}  // namespace

namespace {

constexpr int kResolveLimitMs = 2000;
/// First byte of the child's answer.
constexpr char kIsAddress = '=';
constexpr char kIsReason = '!';

/// Without an address, the first name's reason is kept.
std::string find_route(const std::vector<std::string>& names,
                       const std::string& own) {
  std::string reason;
  for (const std::string& name : names) {
    if (name == own) continue;
    const Route route = route_of(name);
    if (!route.address.empty() &&
        route.address.size() < protocol::kRouteBytes) {
      return kIsAddress + route.address;
    }
    if (reason.empty()) reason = kIsReason + route.why_unknown;
  }
  return reason;
}

/// The answer is one write of fewer bytes than a pipe holds.
std::string read_answer(int fd) {
  std::array<char, 512> text{};
  pollfd ready{fd, POLLIN, 0};
  if (::poll(&ready, 1, kResolveLimitMs) != 1) {
    return std::string(1, kIsReason) + "the resolver of names does not answer";
  }
  const ssize_t size = ::read(fd, text.data(), text.size());
  return {text.data(), static_cast<std::size_t>(size > 0 ? size : 0)};
}

}  // namespace

/// A child process asks, because getaddrinfo has no time limit and a thread
/// that hangs in it cannot be ended.
Route route_to(const std::vector<std::string>& names, const std::string& own) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return {"", errno_text(errno)};
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return {"", errno_text(errno)};
  if (child == 0) {
    const std::string answer = find_route(names, own);
    [[maybe_unused]] const ssize_t n =
        ::write(writer.get(), answer.data(), answer.size());
    ::_exit(0);
  }
  writer.reset();
  const std::string answer = read_answer(reader.get());
  ::kill(child, SIGKILL);
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (answer.empty()) return {};
  return answer.front() == kIsAddress ? Route{answer.substr(1), ""}
                                      : Route{"", answer.substr(1)};
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
