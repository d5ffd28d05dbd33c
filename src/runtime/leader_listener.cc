// Takes the connections of leaders at rank 0, and bounds the descriptors of
// strangers. Called by HostConnections in acp_init, and then by the thread of
// HostWatch. It never waits.
#include "runtime/leader_listener.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/log.h"
#include "runtime/host_connection_socket.h"

namespace acp::runtime {

namespace {

/// The pause between two tries to take connections for which there was no
/// descriptor.
constexpr Duration kAcceptPause = std::chrono::seconds(1);

/// The kernel keeps a new connection back for so long, or until its first byte
/// has come.
constexpr int kDeferSeconds = 10;

/// Raises the soft limit of open files by so many descriptors, so that the
/// program has as many as before. Processes that it starts inherit the limit.
/// Returns the lowest descriptor that the program does not miss, or 0 if the
/// limit stays. A program that uses select() needs those below FD_SETSIZE.
int make_room_for(std::size_t descriptors) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 ||
      limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= limit.rlim_max) {
    return 0;
  }
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur += std::min<rlim_t>(descriptors, limit.rlim_max - before);
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0
             ? static_cast<int>(std::min<rlim_t>(before, FD_SETSIZE))
             : 0;
}

}  // namespace

Status LeaderListener::open(std::size_t leaders) {
  leaders_ = leaders;
  lowest_fd_ = make_room_for(leaders + kMostStrangers + 1);
  HostListener listener = open_host_listener();
  if (!listener.socket) {
    log_error("socket for the leaders of other hosts: {}", errno_text(errno));
    return Status::kSystem;
  }
  // A failure is harmless: then accept() gets silent connections, too.
  (void)::setsockopt(listener.socket.get(), IPPROTO_TCP, TCP_DEFER_ACCEPT,
                     &kDeferSeconds, sizeof kDeferSeconds);
  socket_ = std::move(listener.socket);
  port_ = listener.port;
  fill_reserve();
  return Status::kOk;
}

/// Where the limit could not be raised, the program needs its descriptors more.
void LeaderListener::fill_reserve() {
  const std::size_t missing = leaders_ - std::min(leaders_, known_.size());
  reserve_.hold(lowest_fd_ == 0 ? 1 : missing + 1, lowest_fd_);
}

/// The connection is new, so nothing refers to its descriptor yet.
UniqueFd LeaderListener::move_up(UniqueFd socket) const {
  if (socket.get() < lowest_fd_) {
    UniqueFd high(::fcntl(socket.get(), F_DUPFD_CLOEXEC, lowest_fd_));
    if (high) {
      return high;
    }
  }
  return socket;
}

/// accept4 needs a descriptor before it knows whether a connection is there.
/// Empty, with errno.
UniqueFd LeaderListener::accept_with_reserve() {
  reserve_.release_one();
  UniqueFd socket(
      ::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  const int error = errno;
  if (socket) {
    socket = move_up(std::move(socket));
  }
  fill_reserve();
  errno = error;
  return socket;
}

bool LeaderListener::has_waiting() const {
  pollfd waits{socket_.get(), POLLIN, 0};
  return ::poll(&waits, 1, 0) == 1;
}

/// EAGAIN tells that no connection waits, if there was a descriptor for it.
UniqueFd LeaderListener::accept(TimePoint now) {
  const bool may_take = strangers_.size() < most_strangers();
  int error = 0;
  while (socket_ && may_take) {
    UniqueFd socket = accept_with_reserve();
    error = errno;
    if (socket) {
      return socket;
    }
    if (error != EINTR && error != ECONNABORTED) {
      break;
    }
  }
  if (!socket_ || error == EAGAIN || !has_waiting()) {
    is_crowded_ = false;
    has_warned_ = false;
    retry_at_ = TimePoint::max();
  } else {
    wait_for_room(now, error);
  }
  return {};
}

/// Strangers go first. Only without any is it the program that has taken all
/// descriptors.
void LeaderListener::wait_for_room(TimePoint now, int error) {
  is_crowded_ = true;
  if (!strangers_.empty()) {
    retry_at_ = TimePoint::max();
    return;
  }
  retry_at_ = now + kAcceptPause;
  if (!std::exchange(has_warned_, true)) {
    log_warning(
        "no connection to the leader of another host yet: {}. If that host "
        "fails, only the launcher and the network can notice; rank 0 needs a "
        "descriptor for each other host (ulimit -n)",
        errno_text(error));
  }
}

void LeaderListener::note_stranger(int fd, TimePoint now) {
  strangers_.push_back({fd, now});
}

void LeaderListener::note_end(int fd) {
  std::erase_if(strangers_, [fd](const Stranger& one) { return one.fd == fd; });
  if (is_crowded_) {
    retry_at_ = TimePoint();  // There is room now.
  }
}

void LeaderListener::note_leader(int fd, std::uint32_t rank) {
  note_end(fd);
  known_.insert(rank);
  if (known_.size() >= leaders_) {
    close();
  } else {
    fill_reserve();
  }
}

std::optional<int> LeaderListener::late_stranger(TimePoint now) const {
  if (strangers_.empty() || now - strangers_.front().since < patience()) {
    return std::nullopt;
  }
  return strangers_.front().fd;
}

TimePoint LeaderListener::due() const {
  return strangers_.empty()
             ? retry_at_
             : std::min(retry_at_, strangers_.front().since + patience());
}

void LeaderListener::close() noexcept {
  socket_.reset();
  reserve_ = {};
  is_crowded_ = false;
  retry_at_ = TimePoint::max();
}

}  // namespace acp::runtime
