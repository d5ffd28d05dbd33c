// Sending descriptors. Called for bootstrap messages by both sides, and for
// what a process of another launcher gives to acprun. Blocks unless `flags`
// have MSG_DONTWAIT.
#include "base/send_descriptors.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/assert.h"

namespace acp {

/// The buffer of the control message is aligned as the kernel demands.
ssize_t send_with_descriptors(int socket,
                              std::span<const std::byte> bytes,
                              std::span<const int> descriptors,
                              int flags) noexcept {
  ACP_ASSERT(descriptors.size() <= kMaxSentDescriptors);
  // The kernel does not write to the bytes.
  iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
  alignas(cmsghdr)
      std::array<std::byte, CMSG_SPACE(kMaxSentDescriptors * sizeof(int))>
          control{};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (!descriptors.empty()) {
    header.msg_control = control.data();
    header.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* const item = CMSG_FIRSTHDR(&header);
    item->cmsg_level = SOL_SOCKET;
    item->cmsg_type = SCM_RIGHTS;
    item->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(item), descriptors.data(), descriptors.size_bytes());
  }
  ssize_t sent = 0;
  do {
    sent = ::sendmsg(socket, &header, flags | MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent;
}

}  // namespace acp
