// The user at the other end of a Unix socket.
#pragma once

namespace acp::protocol {

/// Whether the process that has connected the socket, or listens at its other
/// end, is of this process's user. False if the kernel does not tell.
bool is_of_this_user(int socket) noexcept;

}  // namespace acp::protocol
