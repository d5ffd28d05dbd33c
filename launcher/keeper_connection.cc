// Forks the keeper and exchanges packets with it. Called by launch.cc for the
// start, and then by HostPart in its event loop. Only collect() may wait, for a
// keeper that has closed its end.
#include "launcher/keeper_connection.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/log.h"
#include "launcher/keeper.h"
#include "launcher/launch.h"

namespace acp::launcher {

/// The socket pair comes first: its closed end tells each of the two processes
/// that the other one is gone.
Status KeeperConnection::start(std::span<const SpawnRequest> requests,
                               const std::string& copied_program) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) !=
      0) {
    log_error("socket for the keeper: {}", errno_text(errno));
    return Status::kSystem;
  }
  control_.reset(ends[0]);
  UniqueFd keeper_end(ends[1]);
  pid_ = ::fork();
  if (pid_ == 0) {
    run_keeper(std::move(keeper_end), requests, copied_program);
  }
  if (pid_ < 0) {
    log_error("fork: {}; {}", errno_text(errno), advise_on_fork(errno));
    return Status::kSystem;
  }
  return Status::kOk;
}

void KeeperConnection::order(KeeperMessageType type, std::int64_t value) {
  KeeperMessage message;
  message.type = type;
  message.value = value;
  [[maybe_unused]] const ssize_t n = ::send(
      control_.get(), &message, sizeof message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/// A keeper that ends may leave orders unread. The kernel then reports
/// ECONNRESET once, before the keeper's last reports.
KeeperConnection::Received KeeperConnection::receive(KeeperMessage& message) {
  ssize_t n = 0;
  do {
    n = ::recv(control_.get(), &message, sizeof message, MSG_DONTWAIT);
  } while (n < 0 && errno == ECONNRESET);
  if (n == static_cast<ssize_t>(sizeof message)) return Received::kMessage;
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return Received::kNothing;
  return Received::kClosed;
}

int KeeperConnection::collect() {
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace acp::launcher
