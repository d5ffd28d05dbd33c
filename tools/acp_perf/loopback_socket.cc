// Implements LoopbackSocket: two UDP sockets on 127.0.0.1 that learn each
// other's port by way of ACP. The raw UDP rows use it on ranks 0 and 1.
#include "loopback_socket.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>

#include "timing.h"

namespace acp::perf {

namespace {

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

/// Writes this side's port into a word of the other rank's memory. The word
/// holds row number and port: wait_for_port ignores a port of an earlier row.
void tell_port(Context& context, int rank, Word word, std::uint16_t port) {
  context.memory.put_word(rank, word, context.row << 16 | port);
}

std::uint64_t wait_for_port(Context& context, Word word) {
  std::atomic_ref<std::uint64_t> cell(*context.memory.own_word(word));
  std::uint64_t value = 0;
  spin_until([&] {
    value = cell.load(std::memory_order_acquire);  // the other's put_word
    return value >> 16 == context.row;
  });
  return value & 0xffff;
}

}  // namespace

LoopbackSocket::LoopbackSocket()
    : fd_(socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0)) {
  sockaddr_in address = loopback(0);
  socklen_t length = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (fd_ >= 0 && bind(fd_, generic, length) == 0 &&
      getsockname(fd_, generic, &length) == 0) {
    port_ = ntohs(address.sin_port);
  }
}

LoopbackSocket::~LoopbackSocket() {
  if (fd_ >= 0) close(fd_);
}

bool LoopbackSocket::meet_rank_one(Context& context) const {
  tell_port(context, 1, Word::kPing, port_);
  const std::uint64_t port = wait_for_port(context, Word::kPong);
  return port_ != 0 && connect_to(port);
}

bool LoopbackSocket::meet_rank_zero(Context& context) const {
  const std::uint64_t port = wait_for_port(context, Word::kPing);
  const bool usable = port_ != 0 && connect_to(port);
  tell_port(context, 0, Word::kPong, usable ? port_ : 0);
  return usable;
}

bool LoopbackSocket::connect_to(std::uint64_t port) const {
  sockaddr_in address = loopback(static_cast<std::uint16_t>(port));
  return port != 0 && connect(fd_, reinterpret_cast<sockaddr*>(&address),
                              sizeof(address)) == 0;
}

void LoopbackSocket::send(std::span<const std::byte> bytes) const {
  (void)!::send(fd_, bytes.data(), bytes.size(), 0);
}

bool LoopbackSocket::receive(std::span<std::byte> bytes) const {
  return recv(fd_, bytes.data(), bytes.size(), MSG_TRUNC) ==
         static_cast<ssize_t>(bytes.size());
}

std::size_t LoopbackSocket::grow_buffer(int bytes) const {
  int granted = 0;
  socklen_t size = sizeof(granted);
  setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
  getsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &granted, &size);
  return static_cast<std::size_t>(granted);
}

}  // namespace acp::perf
