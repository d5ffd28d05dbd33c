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

extern "C" [[gnu::visibility("default")]] ssize_t sendto(int socket,
                                                         const void* bytes,
                                                         size_t size,
                                                         int flags,
                                                         const sockaddr* to,
                                                         socklen_t to_size) {
  count(socket, to);
  return ::syscall(SYS_sendto, socket, bytes, size, flags, to, to_size);
}

extern "C" [[gnu::visibility("default")]] ssize_t sendmsg(int socket,
                                                          const msghdr* message,
                                                          int flags) {
  count(socket, message->msg_name);
  return ::syscall(SYS_sendmsg, socket, message, flags);
}
