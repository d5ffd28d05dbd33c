// The system calls that carry bootstrap messages. Called by the provider for
// acprun, and by bootstrap_door.cc and HostWatch under another launcher. It
// logs nothing and closes no socket: the caller judges what has happened.
#include "runtime/bootstrap_socket.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/send_descriptors.h"

namespace acp::runtime {

/// The socket keeps packets apart (SOCK_SEQPACKET), so the kernel takes a
/// message whole or not at all, and a message and its descriptor arrive
/// together.
int send_message(int socket,
                 const protocol::BootstrapMessage& message,
                 int attached_fd) {
  const std::size_t descriptors = attached_fd >= 0 ? 1 : 0;
  const std::vector<std::byte> bytes = protocol::encode_bootstrap(message);
  const ssize_t sent = send_with_descriptors(
      socket, bytes, std::span(&attached_fd, descriptors));
  return sent < 0 ? errno : 0;
}

/// The buffer is one byte longer than the longest message, so a message that is
/// too long fails to decode instead of being truncated.
ReceivedMessage receive_message(int socket, Waiting waiting) {
  std::array<std::byte,
             protocol::kBootstrapHeaderBytes + protocol::kBootstrapMaxText + 1>
      buffer{};
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int))> control{};
  iovec part{buffer.data(), buffer.size()};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  const int flags =
      MSG_CMSG_CLOEXEC | (waiting == Waiting::kNever ? MSG_DONTWAIT : 0);
  ReceivedMessage received;
  do {
    received.bytes = ::recvmsg(socket, &header, flags);
    received.error = received.bytes < 0 ? errno : 0;
  } while (received.error == EINTR);
  if (received.bytes <= 0) {
    const bool is_empty = received.error == EAGAIN;
    received.kind = is_empty ? ReceivedMessage::Kind::kNothing
                             : ReceivedMessage::Kind::kClosed;
    return received;
  }
  const cmsghdr* item = CMSG_FIRSTHDR(&header);
  if (item != nullptr && item->cmsg_level == SOL_SOCKET &&
      item->cmsg_type == SCM_RIGHTS) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(item), sizeof fd);
    received.attached.reset(fd);
  }
  auto message = protocol::decode_bootstrap(
      std::span(buffer).first(static_cast<std::size_t>(received.bytes)));
  received.kind = message ? ReceivedMessage::Kind::kMessage
                          : ReceivedMessage::Kind::kNonsense;
  if (message) {
    received.message = std::move(*message);
  }
  return received;
}

}  // namespace acp::runtime
