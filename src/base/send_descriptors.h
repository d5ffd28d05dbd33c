// Sending descriptors to another process by a local socket.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <span>

namespace acp {

/// Descriptors that one call sends at most.
inline constexpr std::size_t kMaxSentDescriptors = 4;

/// Sends bytes, and with them copies of the descriptors, by an AF_UNIX socket.
/// Returns the bytes sent; -1 on failure, with the reason in errno. `flags` are
/// those of sendmsg(); the call raises no SIGPIPE, and a signal does not end
/// it.
ssize_t send_with_descriptors(int socket,
                              std::span<const std::byte> bytes,
                              std::span<const int> descriptors,
                              int flags = 0) noexcept;

}  // namespace acp
