// Sockets of seats. Called by the seat and by the join command, each with one
// thread. A message is shorter than the least socket buffer, so to send one
// does not block for longer than the other side takes to read.
#include "launcher/seat_socket.h"

#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <span>

#include "base/log.h"
#include "base/send_descriptors.h"
#include "protocol/peer_user.h"

namespace acp::launcher {

namespace {

/// More than any environment that a kernel takes for exec.
constexpr std::uint32_t kMaxVariableBytes = 64U << 20;

struct Address {
  sockaddr_un name{};
  socklen_t bytes = 0;
};

/// A name in the abstract name space, which begins with a null byte.
Address address_of(std::string_view token, std::uint32_t rank) {
  const std::string text = fmt::format("acp-seat-{}-{}", token, rank);
  Address address;
  address.name.sun_family = AF_UNIX;
  const std::size_t size =
      std::min(text.size(), sizeof address.name.sun_path - 1);
  std::memcpy(address.name.sun_path + 1, text.data(), size);
  address.bytes =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + size);
  return address;
}

bool send_all(int socket, const void* data, std::size_t bytes) {
  const auto* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t n = ::send(socket, next, bytes, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    next += n;
    bytes -= static_cast<std::size_t>(n);
  }
  return true;
}

bool receive_all(int socket, void* data, std::size_t bytes) {
  auto* next = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t n = ::recv(socket, next, bytes, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    next += n;
    bytes -= static_cast<std::size_t>(n);
  }
  return true;
}

}  // namespace

Result<UniqueFd> listen_at_seat(std::string_view token, std::uint32_t rank) {
  UniqueFd listener(
      ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const Address address = address_of(token, rank);
  if (!listener ||
      ::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address.name),
             address.bytes) != 0 ||
      ::listen(listener.get(), 4) != 0) {
    log_error("socket for the process of rank {}: {}", rank, errno_text(errno));
    return Status::kSystem;
  }
  return listener;
}

/// One connection at a time: another user may connect again and again, and the
/// seat has signals to serve meanwhile.
UniqueFd accept_at_seat(int listener) {
  UniqueFd socket(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
  const int error = errno;
  // An abstract name has no permissions.
  if (socket && protocol::is_of_this_user(socket.get())) return socket;
  errno = socket ? EAGAIN : error;
  return {};
}

UniqueFd connect_to_seat(std::string_view token, std::uint32_t rank) {
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const Address address = address_of(token, rank);
  if (!socket ||
      ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address.name),
                address.bytes) != 0 ||
      !protocol::is_of_this_user(socket.get())) {
    return {};
  }
  return socket;
}

/// The descriptors travel with the number of bytes of the variables, which
/// follow, each with its null byte.
bool give(int socket,
          const std::array<int, 4>& descriptors,
          const std::vector<std::string>& variables) {
  std::string text;
  for (const std::string& one : variables)
    text.append(one.c_str(), one.size() + 1);
  const auto bytes = static_cast<std::uint32_t>(text.size());
  const ssize_t n = send_with_descriptors(
      socket, std::as_bytes(std::span(&bytes, 1)), descriptors);
  return n == static_cast<ssize_t>(sizeof bytes) &&
         send_all(socket, text.data(), text.size());
}

/// The descriptors travel with the first four bytes, which are the length of
/// the text behind them. They are owned before the text is read, so a broken
/// text leaks none.
std::optional<SeatGift> receive_gift(int socket) {
  std::uint32_t bytes = 0;
  iovec part{&bytes, sizeof bytes};
  std::array<int, 4> numbers{};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof numbers)> control{};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  ssize_t n = 0;
  do {
    n = ::recvmsg(socket, &header, MSG_CMSG_CLOEXEC | MSG_WAITALL);
  } while (n < 0 && errno == EINTR);
  const cmsghdr* const item = CMSG_FIRSTHDR(&header);
  if (n != static_cast<ssize_t>(sizeof bytes) || item == nullptr ||
      item->cmsg_type != SCM_RIGHTS ||
      item->cmsg_len != CMSG_LEN(sizeof numbers) || bytes > kMaxVariableBytes) {
    return std::nullopt;
  }
  std::memcpy(numbers.data(), CMSG_DATA(item), sizeof numbers);
  SeatGift gift;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    gift.descriptors[i].reset(numbers[i]);
  std::string text(bytes, '\0');
  if (!receive_all(socket, text.data(), text.size())) return std::nullopt;
  for (std::size_t at = 0; at < text.size();) {
    gift.variables.emplace_back(text.c_str() + at);
    at += gift.variables.back().size() + 1;
  }
  return gift;
}

bool send_to_seat(int socket, SeatMessage message) {
  return send_all(socket, &message, sizeof message);
}

std::optional<SeatMessage> receive_seat_message(int socket) {
  SeatMessage message;
  if (!receive_all(socket, &message, sizeof message)) return std::nullopt;
  return message;
}

}  // namespace acp::launcher
