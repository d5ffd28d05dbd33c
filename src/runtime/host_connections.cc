// TCP connections between the leaders of hosts. Opened by the bootstrap in
// acp_init, and watched by the thread of HostWatch. It may not wait, but for
// connect().
#include "runtime/host_connections.h"

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <span>
#include <utility>

#include "base/log.h"
#include "runtime/host_connection_socket.h"

namespace acp::runtime {

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
  key_ = key;
  const Status status = listener_.open(leaders);
  if (status == Status::kOk && !watch(listener_.fd())) {
    log_error("epoll for the leaders of other hosts: {}", errno_text(errno));
    return Status::kSystem;
  }
  return status;
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
  return has_left_ ? TimePoint::max() : listener_.due();
}

std::size_t HostConnections::size() const {
  const std::lock_guard lock(mutex_);
  return connections_.size();
}

/// Takes the connections that wait. The key of a leader is there when its
/// connection is taken, so it is read before the next one is.
void HostConnections::accept_all(ConnectionReport& report) {
  const TimePoint now = SteadyClock().now();
  while (UniqueFd socket = listener_.accept(now)) {
    const int fd = socket.get();
    (void)add(std::move(socket), ConnectionOrigin::kThere);
    listener_.note_stranger(fd, now);
    take_from(fd, report);
  }
}

void HostConnections::drop_late_strangers() {
  const TimePoint now = SteadyClock().now();
  while (const std::optional<int> fd = listener_.late_stranger(now)) {
    log(LogLevel::kDebug,
        "a connection from {} is closed: it has not sent the key of the job",
        connections_.at(*fd).address());
    remove(*fd);
  }
}

/// A child of the program may have the socket, and would keep it in epoll.
void HostConnections::remove(int fd) {
  (void)::epoll_ctl(ready_.get(), EPOLL_CTL_DEL, fd, nullptr);
  listener_.note_end(fd);
  connections_.erase(fd);
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
    listener_.note_leader(connection.fd(), connection.rank());
  }
  return is_open;
}

/// Takes what a connection has sent, and sends what is left. A connection that
/// never sent the key is a stranger's: its end means nothing.
void HostConnections::take_from(int fd, ConnectionReport& report) {
  HostConnection& connection = connections_.at(fd);
  if (read_from(connection, report.messages)) {
    connection.flush();
    return;
  }
  if (connection.is_known() && !connection.is_leaving() && !report.lost) {
    report.lost = LostHost{connection.rank(), connection.address()};
  }
  remove(fd);
}

void HostConnections::take_events(ConnectionReport& report) {
  std::array<epoll_event, 64> events{};
  for (std::size_t found = events.size(); found == events.size();) {
    const int result = ::epoll_wait(ready_.get(), events.data(),
                                    static_cast<int>(events.size()), 0);
    found = static_cast<std::size_t>(std::max(result, 0));
    for (const epoll_event& event : std::span(events).first(found)) {
      accepts_ = accepts_ || event.data.fd == listener_.fd();
      if (connections_.contains(event.data.fd)) {
        take_from(event.data.fd, report);
      }
    }
  }
}

/// New connections come last. Otherwise one could get the descriptor of a
/// connection that has ended, while events of that one are still to be looked
/// at. A stranger that has had its time makes room for one that waits.
ConnectionReport HostConnections::look() {
  const std::lock_guard lock(mutex_);
  ConnectionReport report;
  if (has_left_ || !ready_) {
    return report;
  }
  accepts_ = false;
  take_events(report);
  drop_late_strangers();
  if (accepts_ || SteadyClock().now() >= listener_.due()) {
    accept_all(report);
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
  if (listener_.fd() >= 0) {
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
  ConnectionReport unread;
  accept_all(unread);
  has_left_ = true;
  for (auto& [fd, connection] : connections_) {
    if (!connection.is_known()) {
      send_kept(connection);
    }
    connection.send({LeaderMessageType::kGoodbye, 0, 0, 0});
  }
}

}  // namespace acp::runtime
