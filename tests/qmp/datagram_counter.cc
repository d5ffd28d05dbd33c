// Replaces sendto in this executable by a function that counts.
#include "datagram_counter.h"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

namespace {

thread_local int g_datagrams = 0;

/// Counts a datagram, unless it leaves through a Unix socket, as those of
/// doorbells and of the launcher do. `to` is null on a connected socket.
void count(int socket, const void* to) {
  int domain = AF_UNSPEC;
  socklen_t size = sizeof domain;
  if (to != nullptr) {
    domain = static_cast<const sockaddr*>(to)->sa_family;
  } else if (::getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0) {
    return;
  }
  g_datagrams += domain != AF_UNIX ? 1 : 0;
}

}  // namespace

namespace datagram_counter {

int take() noexcept {
  return std::exchange(g_datagrams, 0);
}

}  // namespace datagram_counter

extern "C" [[gnu::visibility("default")]] ssize_t sendto(int fd,
                                                         const void* buf,
                                                         size_t n,
                                                         int flags,
                                                         const sockaddr* addr,
                                                         socklen_t addr_len) {
  count(fd, addr);
  return ::syscall(SYS_sendto, fd, buf, n, flags, addr, addr_len);
}

extern "C" [[gnu::visibility("default")]] ssize_t sendmsg(int fd,
                                                          const msghdr* message,
                                                          int flags) {
  count(fd, message->msg_name);
  return ::syscall(SYS_sendmsg, fd, message, flags);
}
