// Binds, rings and empties doorbell sockets. Senders may be in any thread, also
// with the engine's mutex held, so nothing here waits for another process.
#include "transport/shm/doorbell_socket.h"

#include <fmt/core.h>
#include <poll.h>
#include <sched.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "base/log.h"
#include "base/thread.h"

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

/// Whether at least three quarters of the send buffer are free. A datagram
/// takes from it until its receiver has read it.
bool has_room(int socket) noexcept {
  pollfd entry{socket, POLLOUT, 0};
  return ::poll(&entry, 1, 0) == 1 && (entry.revents & POLLOUT) != 0;
}

/// False, with errno, when the datagram did not find room.
bool send_token(int socket, const Address& to) noexcept {
  const char token = 1;
  return ::sendto(socket, &token, sizeof token, MSG_DONTWAIT | MSG_NOSIGNAL,
                  reinterpret_cast<const sockaddr*>(&to.name), to.size) >= 0;
}

/// Sends a token by a new socket although the process has as many descriptors
/// as it may have. Closing a socket to make room would lose its descriptor to
/// whichever thread of the program opens one next. So a thread with a table of
/// descriptors of its own does it. The table is a copy, in which it closes
/// `unused`, and which ends with the thread.
void send_without_descriptor(int unused, const Address& to) noexcept {
  int error = 0;
  std::optional<std::thread> thread =
      start_thread("a thread to wake another rank", [&] {
        if (::unshare(CLONE_FILES) != 0) {
          error = errno;
          return;
        }
        ::close(unused);
        const UniqueFd socket = make_socket();
        error = socket ? 0 : errno;
        if (socket) {
          (void)send_token(socket.get(), to);
        }
      });
  if (!thread) {
    return;
  }
  thread->join();
  if (error != 0) {
    log_error(
        "a socket to wake another rank by: {}; raise the limit of open files "
        "(ulimit -n)",
        errno_text(error));
  }
}

}  // namespace

/// Binds before it publishes: a rank that reads the name can send to it. The
/// size is stored last, since readers look at it first.
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
  UniqueFd spare = make_socket();
  if (!socket || !spare ||
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
      new DoorbellSocket(std::move(socket), std::move(spare), mine));
}

/// Tries the common socket first, which needs no lock. The spare one is for the
/// case that a token cannot be sent: a lost token would leave the rank asleep.
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
  // Either the receiver's queue is full, and what is in it wakes the receiver.
  // Or the buffer of this socket is used up by tokens that many other ranks
  // have not taken yet. The spare socket has a buffer of its own.
  const std::lock_guard lock(mutex_);
  if (!has_room(spare_.get())) {
    // A new socket starts with an empty buffer, and the datagrams of the old
    // one stay with their receivers.
    UniqueFd next = make_socket();
    if (!next) {
      send_without_descriptor(spare_.get(), to);
      return;
    }
    spare_ = std::move(next);
  }
  (void)send_token(spare_.get(), to);
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
