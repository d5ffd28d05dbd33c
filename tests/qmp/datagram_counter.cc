#include "datagram_counter.h"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

namespace {

thread_local int g_datagrams = 0;

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
  if (to != nullptr && to->sa_family != AF_UNIX) {
    ++g_datagrams;
  }
  return ::syscall(SYS_sendto, socket, bytes, size, flags, to, to_size);
}

extern "C" [[gnu::visibility("default")]] ssize_t sendmsg(int socket,
                                                          const msghdr* message,
                                                          int flags) {
  const auto* to = static_cast<const sockaddr*>(message->msg_name);
  if (to != nullptr && to->sa_family != AF_UNIX) {
    ++g_datagrams;
  }
  return ::syscall(SYS_sendmsg, socket, message, flags);
}
