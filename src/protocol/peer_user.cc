// Asks the kernel for the user at the other end of a Unix socket. Called by
// acprun's sockets, and by acp_top.
#include "protocol/peer_user.h"

#include <sys/socket.h>
#include <unistd.h>

namespace acp::protocol {

bool is_of_this_user(int socket) noexcept {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         peer.uid == ::geteuid();
}

}  // namespace acp::protocol
