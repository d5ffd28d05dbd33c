// Makes TCP sockets for connections between hosts. Called in acp_init, and by
// the thread of HostWatch when it takes a connection. It may not wait, but for
// open_host_connection().
#include "runtime/host_connection_socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <memory>
#include <string_view>
#include <utility>

namespace acp::runtime {

namespace {

/// Longest wait for a connection: a firewall often drops packets silently.
constexpr Duration kConnectLimit = std::chrono::seconds(5);
/// A host that does not answer for so long is gone: 6 probes, 1 s apart, after
/// 4 s of silence. A job has to end within 15 s of the loss of a host, and
/// HostWatch takes up to 4 s of that. Many probes, because a network may lose
/// some.
constexpr int kSilenceSeconds = 4;
constexpr int kProbeSeconds = 1;
constexpr int kProbes = 6;
/// A peer that acknowledges no byte for so long is silent. TCP sends no probe
/// while bytes are under way, so they need this limit, which is the same.
constexpr unsigned kUnacknowledgedMs =
    (kSilenceSeconds + kProbes * kProbeSeconds) * 1000;

struct FreeAddresses {
  void operator()(addrinfo* list) const noexcept { ::freeaddrinfo(list); }
};

/// Whether the connection is there before the limit; errno says why not. A
/// signal that the program handles ends no wait.
bool finish_connecting(int socket, const WaitLimit& limit) {
  std::array<pollfd, 2> ready{
      {{socket, POLLOUT, 0}, {limit.end_fd, limit.end_events, 0}}};
  int found = 0;
  do {
    found = ::poll(ready.data(), ready.size(), limit.poll_timeout_ms());
  } while (found < 0 && errno == EINTR);
  if (found <= 0 || ready[1].revents != 0) {
    if (found >= 0) {
      errno = ETIMEDOUT;
    }
    return false;
  }
  int error = 0;
  socklen_t size = sizeof error;
  (void)::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size);
  errno = error;
  return error == 0;
}

}  // namespace

/// One socket takes connections of IPv6 and IPv4. A kernel without IPv6 gives
/// one for IPv4.
HostListener open_host_listener() {
  UniqueFd listener;
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  sockaddr_in four{};
  four.sin_family = AF_INET;
  constexpr int kType = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
  listener.reset(::socket(AF_INET6, kType, 0));
  const int no = 0;
  bool is_bound =
      listener &&
      ::setsockopt(listener.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no) ==
          0 &&
      ::bind(listener.get(), reinterpret_cast<const sockaddr*>(&six),
             sizeof six) == 0;
  if (!is_bound) {
    listener.reset(::socket(AF_INET, kType, 0));
    is_bound = listener &&
               ::bind(listener.get(), reinterpret_cast<const sockaddr*>(&four),
                      sizeof four) == 0;
  }
  sockaddr_in6 own{};
  socklen_t size = sizeof own;
  if (!is_bound || ::listen(listener.get(), SOMAXCONN) != 0 ||
      ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&own), &size) !=
          0) {
    return {};
  }
  // The port has the same offset in both kinds of address.
  return {std::move(listener), ntohs(own.sin6_port)};
}

/// The wait is limited, because a firewall that drops packets would otherwise
/// hold up acp_init.
UniqueFd open_host_connection(const std::string& address,
                              std::uint16_t port,
                              const WaitLimit& limit) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  (void)::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints,
                      &list);
  const std::unique_ptr<addrinfo, FreeAddresses> owner(list);
  errno = EADDRNOTAVAIL;
  UniqueFd socket(list == nullptr
                      ? -1
                      : ::socket(list->ai_family,
                                 SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
                                 0));
  WaitLimit soon = limit;
  soon.deadline = std::min(soon.deadline, SteadyClock().now() + kConnectLimit);
  const bool is_there =
      socket &&
      (::connect(socket.get(), list->ai_addr, list->ai_addrlen) == 0 ||
       (errno == EINPROGRESS && finish_connecting(socket.get(), soon)));
  return is_there ? std::move(socket) : UniqueFd();
}

void watch_for_silence(int socket) noexcept {
  const auto set = [socket](int level, int option, int value) {
    (void)::setsockopt(socket, level, option, &value, sizeof value);
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, kSilenceSeconds);
  set(IPPROTO_TCP, TCP_KEEPINTVL, kProbeSeconds);
  set(IPPROTO_TCP, TCP_KEEPCNT, kProbes);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(kUnacknowledgedMs));
  set(IPPROTO_TCP, TCP_NODELAY, 1);
}

std::string address_of_peer(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  std::array<char, NI_MAXHOST> text{};
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&address), &size) !=
          0 ||
      ::getnameinfo(reinterpret_cast<const sockaddr*>(&address), size,
                    text.data(), text.size(), nullptr, 0,
                    NI_NUMERICHOST) != 0) {
    return {};
  }
  constexpr std::string_view kMapped = "::ffff:";  // IPv4 at a socket of IPv6
  std::string_view name = text.data();
  if (name.starts_with(kMapped)) {
    name.remove_prefix(kMapped.size());
  }
  return std::string(name);
}

}  // namespace acp::runtime
