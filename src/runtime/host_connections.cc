// TCP connections between the leaders of hosts. Opened by the bootstrap in
// acp_init, and watched by the thread of HostWatch. It may not wait, but for
// connect().
#include "runtime/host_connections.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <span>
#include <utility>

#include "base/log.h"
#include "runtime/host_connection_socket.h"

namespace acp::runtime {

namespace {

/// The pause between two tries to take connections for which there was no
/// descriptor.
constexpr Duration kAcceptPause = std::chrono::seconds(1);

/// Raises the soft limit of open files by so many connections, so that the
/// program has as many descriptors as before. Processes that it starts inherit
/// the limit. Returns whether the limit has been raised.
bool make_room_for(std::size_t connections) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 ||
      limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= limit.rlim_max) {
    return false;
  }
  limit.rlim_cur +=
      std::min<rlim_t>(connections, limit.rlim_max - limit.rlim_cur);
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

}  // namespace

HostConnections::~HostConnections() {
  if (!has_left_) {
    return;
  }
  for (auto& [fd, connection] : connections_) {
    connection.finish();
  }
}

/// Edge-triggered: a listener whose connections find no free descriptor would
/// otherwise be ready all the time. So whoever reads or sends goes on until the
/// descriptor has no more. False, with errno.
bool HostConnections::watch(int fd) {
  if (!ready_) {
    ready_.reset(::epoll_create1(EPOLL_CLOEXEC));
  }
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLET;
  event.data.fd = fd;
  return ready_ && ::epoll_ctl(ready_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

Status HostConnections::open(const LeaderKey& key, std::size_t leaders) {
  const std::lock_guard lock(mutex_);
  // A program that uses select() needs the descriptors below FD_SETSIZE.
  lowest_fd_ = make_room_for(leaders) ? FD_SETSIZE : 0;
  key_ = key;
  HostListener listener = open_host_listener();
  listener_ = std::move(listener.socket);
  if (!listener_ || !watch(listener_.get())) {
    log_error("socket for the leaders of other hosts: {}", errno_text(errno));
    return Status::kSystem;
  }
  port_ = listener.port;
  return Status::kOk;
}

/// A failure is no error of the job: the connection only serves to notice the
/// death of a host.
bool HostConnections::connect(const std::string& address,
                              std::uint16_t port,
                              const LeaderKey& key,
                              std::uint32_t my_rank,
                              const WaitLimit& limit) {
  UniqueFd socket = open_host_connection(address, port, limit);
  if (!socket || !send_greeting(socket.get(), key, my_rank)) {
    log_warning(
        "no connection to rank 0 at {} port {}: {}. If a host fails, only the "
        "launcher and the network can notice; a firewall should let TCP pass "
        "between the hosts of a job",
        address, port, errno_text(errno));
    return false;
  }
  const std::lock_guard lock(mutex_);
  return add(std::move(socket), ConnectionOrigin::kHere);
}

/// A connection that cannot be watched stays open: its end would end the job at
/// the other side.
bool HostConnections::add(UniqueFd socket, ConnectionOrigin origin) {
  UniqueFd high(lowest_fd_ == 0
                    ? -1
                    : ::fcntl(socket.get(), F_DUPFD_CLOEXEC, lowest_fd_));
  if (high) {
    socket = std::move(high);
  }
  const int fd = socket.get();
  watch_for_silence(fd);
  const bool is_watched = watch(fd);
  if (!is_watched) {
    log_warning(
        "epoll for the leader of another host: {}. If that host fails, only "
        "the launcher and the network can notice",
        errno_text(errno));
  }
  connections_.insert_or_assign(fd, HostConnection(std::move(socket), origin));
  return is_watched;
}

int HostConnections::ready_fd() const {
  const std::lock_guard lock(mutex_);
  return has_left_ ? -1 : ready_.get();
}

TimePoint HostConnections::look_due() const {
  const std::lock_guard lock(mutex_);
  return has_left_ ? TimePoint::max() : accept_due_;
}

std::size_t HostConnections::size() const {
  const std::lock_guard lock(mutex_);
  return connections_.size();
}

/// A connection that finds no free descriptor waits, and look() tries again.
/// accept4 needs one before it knows whether a connection is there.
void HostConnections::accept_all() {
  const bool has_warned = accept_due_ != TimePoint::max();
  accept_due_ = TimePoint::max();
  while (listener_) {
    UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr,
                              SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket) {
      (void)add(std::move(socket), ConnectionOrigin::kThere);
      continue;
    }
    const int error = errno;
    if (error == EINTR || error == ECONNABORTED) {
      continue;
    }
    pollfd waits{listener_.get(), POLLIN, 0};
    if (error == EAGAIN || ::poll(&waits, 1, 0) != 1) {
      return;
    }
    accept_due_ = SteadyClock().now() + kAcceptPause;
    if (!has_warned) {
      log_warning(
          "no connection to the leader of another host yet: {}. If that host "
          "fails, only the launcher and the network can notice; rank 0 needs a "
          "descriptor for each other host (ulimit -n)",
          errno_text(error));
    }
    return;
  }
}

void HostConnections::send_kept(HostConnection& connection) const {
  for (const LeaderMessage& message : kept_.messages()) {
    connection.send(message);
  }
}

/// False: the connection is over.
bool HostConnections::read_from(HostConnection& connection,
                                std::vector<LeaderMessage>& messages) {
  const bool was_known = connection.is_known();
  const bool is_open = connection.read(key_, messages);
  if (!was_known && connection.is_known()) {
    send_kept(connection);
  }
  return is_open;
}

/// A connection that never sent the key is a stranger's: its end means nothing.
/// New connections come last. Otherwise one could get the descriptor of a
/// connection that has ended, while events of that one are still to be looked
/// at.
ConnectionReport HostConnections::look() {
  const std::lock_guard lock(mutex_);
  ConnectionReport report;
  if (has_left_ || !ready_) {
    return report;
  }
  std::array<epoll_event, 64> events{};
  bool accepts = SteadyClock().now() >= accept_due_;
  for (std::size_t found = events.size(); found == events.size();) {
    const int result = ::epoll_wait(ready_.get(), events.data(),
                                    static_cast<int>(events.size()), 0);
    found = static_cast<std::size_t>(std::max(result, 0));
    for (const epoll_event& event : std::span(events).first(found)) {
      accepts = accepts || event.data.fd == listener_.get();
      const auto at = connections_.find(event.data.fd);
      if (at == connections_.end()) {
        continue;
      }
      HostConnection& connection = at->second;
      if (read_from(connection, report.messages)) {
        connection.flush();
        continue;
      }
      if (connection.is_known() && !connection.is_leaving() && !report.lost) {
        report.lost = LostHost{connection.rank(), connection.address()};
      }
      // A child of the program may have the socket, and would keep it in epoll.
      (void)::epoll_ctl(ready_.get(), EPOLL_CTL_DEL, event.data.fd, nullptr);
      connections_.erase(at);
    }
  }
  if (accepts) {
    accept_all();
  }
  return report;
}

void HostConnections::send_to_known(const LeaderMessage& message) {
  for (auto& [fd, connection] : connections_) {
    if (connection.is_known() && !connection.is_leaving()) {
      connection.send(message);
    }
  }
}

void HostConnections::send_absence(const LeaderMessage& message) {
  const std::lock_guard lock(mutex_);
  if (has_left_) {
    return;
  }
  send_to_known(message);
  if (listener_) {
    kept_.keep_absence(message);
  }
}

bool HostConnections::send_stuck(const LeaderMessage& message) {
  const std::lock_guard lock(mutex_);
  if (!has_connection_to_rank_0()) {
    return false;
  }
  connections_.begin()->second.send(message);
  return true;
}

void HostConnections::send_written() {
  const std::lock_guard lock(mutex_);
  if (has_left_) {
    return;
  }
  const LeaderMessage written{LeaderMessageType::kWritten, 0, 0, 0};
  send_to_known(written);
  kept_.keep(written);
}

bool HostConnections::has_connection_to_rank_0() const {
  return !has_left_ && !connections_.empty() &&
         !connections_.begin()->second.is_leaving();
}

bool HostConnections::reaches_rank_0() const {
  const std::lock_guard lock(mutex_);
  return has_connection_to_rank_0();
}

/// A connection that waits until the listener closes would be reset. A leader
/// whose key rank 0 has not read yet still needs the absences: its ranks may
/// wait in acp_reset. A stranger gets them too, and learns numbers of ranks.
void HostConnections::say_goodbye() {
  const std::lock_guard lock(mutex_);
  accept_all();
  has_left_ = true;
  for (auto& [fd, connection] : connections_) {
    if (!connection.is_known()) {
      send_kept(connection);
    }
    connection.send({LeaderMessageType::kGoodbye, 0, 0, 0});
  }
}

}  // namespace acp::runtime
