// Binds, rings and empties doorbell sockets. Senders may be in any thread, also
// with the engine's mutex held, so nothing here blocks.
#include "transport/shm/doorbell_socket.h"

#include <fmt/format.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "base/log.h"

namespace acp::shm {

namespace {

struct Address {
  sockaddr_un name{};
  socklen_t size = 0;
};

/// An abstract name begins with a 0 byte, behind which `text` stands.
Address address_of(std::string_view text) {
  Address address;
  address.name.sun_family = AF_UNIX;
  std::memcpy(address.name.sun_path + 1, text.data(), text.size());
  address.size =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  return address;
}

UniqueFd make_socket() {
  return UniqueFd(
      ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

/// Returns false, with errno, when the datagram found no room.
bool send_token(int socket, const Address& to) noexcept {
  const char token = 1;
  return ::sendto(socket, &token, sizeof token, MSG_DONTWAIT | MSG_NOSIGNAL,
                  reinterpret_cast<const sockaddr*>(&to.name), to.size) >= 0;
}

}  // namespace

Result<std::unique_ptr<DoorbellSocket>> DoorbellSocket::open(
    const protocol::HostSegment& segment, std::uint32_t my_slot) {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) !=
      static_cast<ssize_t>(sizeof number)) {
    log_error("a name for the doorbell socket: getrandom: {}",
              errno_text(errno));
    return Status::kSystem;
  }
  const std::string text = fmt::format("acp-{:016x}", number);
  const Address address = address_of(text);
  UniqueFd socket = make_socket();
  if (!socket ||
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address.name),
             address.size) != 0) {
    log_error("doorbell socket @{}: {}", text, errno_text(errno));
    return Status::kSystem;
  }
  protocol::SliceHeader& mine = segment.slice_header(my_slot);
  static_assert(sizeof("acp-") + 16 <= sizeof mine.doorbell_socket.text);
  text.copy(mine.doorbell_socket.text.data(), mine.doorbell_socket.text.size());
  mine.doorbell_socket.size.store(static_cast<std::uint32_t>(text.size()),
                                  std::memory_order_release);
  return std::unique_ptr<DoorbellSocket>(
      new DoorbellSocket(std::move(socket), mine));
}

void DoorbellSocket::wake_thread(const protocol::SliceHeader& slice) noexcept {
  const std::size_t size =
      slice.doorbell_socket.size.load(std::memory_order_acquire);
  if (size == 0) {
    return;
  }
  const Address to = address_of({slice.doorbell_socket.text.data(), size});
  if (send_token(socket_.get(), to) || errno != EAGAIN) {
    return;  // sent, or the owner is gone
  }
  // Either the receiver's queue is full, and then the receiver is awake
  // already; or datagrams that many other ranks have not taken yet fill the
  // send buffer of this socket, and then a new socket has an empty buffer.
  const UniqueFd other = make_socket();
  if (!other) {
    log_error("a socket to wake another rank by: {}", errno_text(errno));
    return;
  }
  (void)send_token(other.get(), to);
}

void DoorbellSocket::wake_own() noexcept {
  wake_thread(mine_);
}

void DoorbellSocket::drain() noexcept {
  std::array<char, 64> tokens{};
  while (::recv(socket_.get(), tokens.data(), tokens.size(), MSG_DONTWAIT) >
         0) {
  }
}

}  // namespace acp::shm
