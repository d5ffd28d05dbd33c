// TCP connections between the leaders of hosts. Opened by the bootstrap in
// acp_init, and watched by the thread of HostWatch. It may not wait, but for
// connect().
#include "runtime/bootstrap_links.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

#include "base/log.h"
#include "protocol/absence.h"

namespace acp::runtime {

namespace {

/// Longest wait for a connection: a firewall often drops packets silently.
constexpr Duration kConnectLimit = std::chrono::seconds(5);
/// A host that does not answer for so long is gone: 6 probes, 1 s apart, after
/// 4 s of silence. A job has to end within 15 s of the loss of a host, and
/// HostWatch takes up to 4 s of that. Many probes, because a network may lose
/// some.
constexpr int kSilenceSeconds = 4;
constexpr int kProbeSeconds = 1;
constexpr int kProbes = 6;
/// A peer that acknowledges no byte for so long is silent. TCP sends no probe
/// while bytes are under way, so they need this limit, which is the same.
constexpr unsigned kUnacknowledgedMs =
    (kSilenceSeconds + kProbes * kProbeSeconds) * 1000;

/// Leaders leave much less unread than so many reads of 4 KiB.
constexpr int kDiscardedReads = 256;

/// The first bytes of a connection, from the leader that has connected.
struct Greeting {
  LinkKey key;
  std::uint32_t rank;
};

static_assert(sizeof(Greeting) == 20);

void watch_peer(int socket) noexcept {
  const auto set = [socket](int level, int option, int value) {
    (void)::setsockopt(socket, level, option, &value, sizeof value);
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, kSilenceSeconds);
  set(IPPROTO_TCP, TCP_KEEPINTVL, kProbeSeconds);
  set(IPPROTO_TCP, TCP_KEEPCNT, kProbes);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(kUnacknowledgedMs));
  set(IPPROTO_TCP, TCP_NODELAY, 1);
}

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

/// The address of the other end; empty when the connection is over already.
std::string address_of_peer(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  std::array<char, NI_MAXHOST> text{};
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&address), &size) !=
          0 ||
      ::getnameinfo(reinterpret_cast<const sockaddr*>(&address), size,
                    text.data(), text.size(), nullptr, 0,
                    NI_NUMERICHOST) != 0) {
    return {};
  }
  constexpr std::string_view kMapped = "::ffff:";  // IPv4 at a socket of IPv6
  std::string_view name = text.data();
  if (name.starts_with(kMapped)) {
    name.remove_prefix(kMapped.size());
  }
  return std::string(name);
}

struct FreeAddresses {
  void operator()(addrinfo* list) const noexcept { ::freeaddrinfo(list); }
};

/// Whether the connection is there before the limit; errno says why not.
bool finish_connecting(int socket, const WaitLimit& limit) {
  std::array<pollfd, 2> ready{
      {{socket, POLLOUT, 0}, {limit.end_fd, limit.end_events, 0}}};
  const int found = ::poll(ready.data(), ready.size(), limit.poll_timeout_ms());
  if (found <= 0 || ready[1].revents != 0) {
    errno = ETIMEDOUT;
    return false;
  }
  int error = 0;
  socklen_t size = sizeof error;
  (void)::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size);
  errno = error;
  return error == 0;
}

}  // namespace

/// TCP resets a connection that is closed while it holds bytes that nobody has
/// read, and drops the goodbye if it is still under way. So what has come is
/// read first. Bytes that come later still reset the connection: HostWatch
/// bears that.
HostLinks::~HostLinks() {
  if (!has_left_) {
    return;
  }
  for (auto& [fd, link] : links_) {
    flush(link);
    (void)::shutdown(link.socket.get(), SHUT_WR);
    discard(link);
  }
}

/// Edge-triggered: a listener whose connections find no free descriptor would
/// otherwise be ready all the time. So whoever reads or sends goes on until the
/// descriptor has no more. False, with errno.
bool HostLinks::watch(int fd) {
  if (!ready_) {
    ready_.reset(::epoll_create1(EPOLL_CLOEXEC));
  }
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLET;
  event.data.fd = fd;
  return ready_ && ::epoll_ctl(ready_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

/// One socket takes connections of IPv6 and IPv4. A kernel without IPv6 gives
/// one for IPv4.
Status HostLinks::open(const LinkKey& key, std::size_t leaders) {
  const std::lock_guard lock(mutex_);
  // A program that uses select() needs the descriptors below FD_SETSIZE.
  lowest_fd_ = make_room_for(leaders) ? FD_SETSIZE : 0;
  key_ = key;
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  sockaddr_in four{};
  four.sin_family = AF_INET;
  constexpr int kType = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
  listener_.reset(::socket(AF_INET6, kType, 0));
  const int no = 0;
  bool is_bound =
      listener_ &&
      ::setsockopt(listener_.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no,
                   sizeof no) == 0 &&
      ::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&six),
             sizeof six) == 0;
  if (!is_bound) {
    listener_.reset(::socket(AF_INET, kType, 0));
    is_bound = listener_ &&
               ::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&four),
                      sizeof four) == 0;
  }
  sockaddr_in6 own{};
  socklen_t size = sizeof own;
  if (!is_bound || ::listen(listener_.get(), SOMAXCONN) != 0 ||
      ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&own),
                    &size) != 0 ||
      !watch(listener_.get())) {
    log_error("socket for the leaders of other hosts: {}", errno_text(errno));
    return Status::kSystem;
  }
  // The port has the same offset in both kinds of address.
  port_ = ntohs(own.sin6_port);
  return Status::kOk;
}

/// A failure is no error of the job: the link only serves to notice the death
/// of a host. It is limited by kConnectLimit, because a firewall that drops
/// packets would otherwise hold up acp_init. The greeting fits the empty send
/// buffer, so one send takes it whole.
bool HostLinks::connect(const std::string& address,
                        std::uint16_t port,
                        const LinkKey& key,
                        std::uint32_t my_rank,
                        const WaitLimit& limit) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  (void)::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints,
                      &list);
  const std::unique_ptr<addrinfo, FreeAddresses> owner(list);
  errno = EADDRNOTAVAIL;
  UniqueFd socket(list == nullptr
                      ? -1
                      : ::socket(list->ai_family,
                                 SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
                                 0));
  WaitLimit soon = limit;
  soon.deadline = std::min(soon.deadline, SteadyClock().now() + kConnectLimit);
  Greeting greeting{key, my_rank};
  const bool is_there =
      socket &&
      (::connect(socket.get(), list->ai_addr, list->ai_addrlen) == 0 ||
       (errno == EINPROGRESS && finish_connecting(socket.get(), soon))) &&
      ::send(socket.get(), &greeting, sizeof greeting, MSG_NOSIGNAL) ==
          static_cast<ssize_t>(sizeof greeting);
  if (!is_there) {
    log_warning(
        "no connection to rank 0 at {} port {}: {}. If a host fails, only the "
        "launcher and the network can notice; a firewall should let TCP pass "
        "between the hosts of a job",
        address, port, errno_text(errno));
    return false;
  }
  const std::lock_guard lock(mutex_);
  return add(std::move(socket), true);
}

/// A connection that cannot be watched stays open: its end would end the job at
/// the other side.
bool HostLinks::add(UniqueFd socket, bool is_known) {
  UniqueFd high(lowest_fd_ == 0
                    ? -1
                    : ::fcntl(socket.get(), F_DUPFD_CLOEXEC, lowest_fd_));
  if (high) {
    socket = std::move(high);
  }
  const int fd = socket.get();
  watch_peer(fd);
  const bool is_watched = watch(fd);
  if (!is_watched) {
    log_warning(
        "epoll for the leader of another host: {}. If that host fails, only "
        "the launcher and the network can notice",
        errno_text(errno));
  }
  links_[fd] = {
      std::move(socket), 0, address_of_peer(fd), is_known, false, {}, {}};
  return is_watched;
}

int HostLinks::ready_fd() const {
  const std::lock_guard lock(mutex_);
  return has_left_ ? -1 : ready_.get();
}

TimePoint HostLinks::look_due() const {
  const std::lock_guard lock(mutex_);
  return has_left_ ? TimePoint::max() : accept_due_;
}

std::size_t HostLinks::size() const {
  const std::lock_guard lock(mutex_);
  return links_.size();
}

/// A connection that finds no free descriptor waits, and look() tries again.
/// accept4 needs one before it knows whether a connection is there.
void HostLinks::accept_all() {
  const bool has_warned = accept_due_ != TimePoint::max();
  accept_due_ = TimePoint::max();
  while (listener_) {
    UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr,
                              SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket) {
      (void)add(std::move(socket), false);
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

/// A connection that fails is left to read_from(), which sees its end.
void HostLinks::flush(Link& link) {
  while (!link.unsent.empty()) {
    const ssize_t n = ::send(link.socket.get(), link.unsent.data(),
                             link.unsent.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n < 0 && errno != EAGAIN) {
      link.unsent.clear();
    }
    if (n < 0) {
      return;
    }
    link.unsent.erase(0, static_cast<std::size_t>(n));
  }
}

/// Reads what has come, and no more than kDiscardedReads: a stranger may send
/// for ever.
void HostLinks::discard(const Link& link) {
  std::array<char, 4096> bytes{};
  for (int i = 0; i < kDiscardedReads; ++i) {
    const ssize_t n = ::recv(link.socket.get(), bytes.data(), bytes.size(), 0);
    if (n == 0 || (n < 0 && errno != EINTR)) {
      return;
    }
  }
}

void HostLinks::send(Link& link, const LinkMessage& message) {
  link.unsent.append(reinterpret_cast<const char*>(&message), sizeof message);
  flush(link);
}

void HostLinks::send_told(Link& link) const {
  for (const LinkMessage& message : told_) {
    send(link, message);
  }
}

/// False: the connection is over. The greeting arrives in one piece or not at
/// all: it is the first thing on the connection, and small. Messages may come
/// in parts.
bool HostLinks::read_from(Link& link, std::vector<LinkMessage>& messages) {
  for (;;) {
    Greeting greeting{};
    std::array<char, 16 * sizeof(LinkMessage)> bytes{};
    const ssize_t n =
        link.is_known
            ? ::recv(link.socket.get(), bytes.data(), bytes.size(), 0)
            : ::recv(link.socket.get(), &greeting, sizeof greeting, 0);
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n < 0 && errno == EAGAIN) {
      return true;
    }
    if (n <= 0) {
      return false;
    }
    if (!link.is_known) {
      link.is_known =
          n == static_cast<ssize_t>(sizeof greeting) && greeting.key == key_;
      link.rank = greeting.rank;
      if (!link.is_known) {
        return false;
      }
      send_told(link);
      continue;
    }
    link.received.append(bytes.data(), static_cast<std::size_t>(n));
    take_messages(link, messages);
  }
}

/// Takes the whole messages out of what a link has received. A type that this
/// version does not know is left out.
void HostLinks::take_messages(Link& link, std::vector<LinkMessage>& messages) {
  std::size_t taken = 0;
  for (; link.received.size() - taken >= sizeof(LinkMessage);
       taken += sizeof(LinkMessage)) {
    LinkMessage message;
    std::memcpy(&message, link.received.data() + taken, sizeof message);
    switch (message.type) {
      case LinkMessageType::kGoodbye: link.is_leaving = true; break;
      case LinkMessageType::kAbsent:
      case LinkMessageType::kStuck:
      case LinkMessageType::kWritten: messages.push_back(message); break;
    }
  }
  link.received.erase(0, taken);
}

/// A connection that never sent the key is a stranger's: its end means nothing.
/// New connections come last. Otherwise one could get the descriptor of a
/// connection that has ended, while events of that one are still to be looked
/// at.
LinkReport HostLinks::look() {
  const std::lock_guard lock(mutex_);
  LinkReport report;
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
      const auto at = links_.find(event.data.fd);
      if (at == links_.end()) {
        continue;
      }
      Link& link = at->second;
      if (read_from(link, report.messages)) {
        flush(link);
        continue;
      }
      if (link.is_known && !link.is_leaving && !report.lost) {
        report.lost = LostHost{link.rank, link.address};
      }
      // A child of the program may have the socket, and would keep it in epoll.
      (void)::epoll_ctl(ready_.get(), EPOLL_CTL_DEL, event.data.fd, nullptr);
      links_.erase(at);
    }
  }
  if (accepts) {
    accept_all();
  }
  return report;
}

/// A leader whose link is taken later needs the absence of each kind that
/// stands in the words of the other hosts. Of acp_reset it needs all numbers
/// after the most meetings, because two that differ are judged.
void HostLinks::keep(const LinkMessage& message) {
  const auto absence = protocol::Absence::of(message.absence);
  const auto is_of_kind = [&absence](const LinkMessage& old) {
    return old.type == LinkMessageType::kAbsent &&
           protocol::Absence::of(old.absence).kind == absence.kind;
  };
  if (absence.kind == protocol::AbsenceKind::kResetting) {
    std::erase_if(told_, [&](const LinkMessage& old) {
      return is_of_kind(old) && (old.meetings < message.meetings ||
                                 old.absence == message.absence);
    });
    told_.push_back(message);
    return;
  }
  const auto old = std::ranges::find_if(told_, is_of_kind);
  if (old == told_.end()) {
    told_.push_back(message);
  } else if (absence.outranks(protocol::Absence::of(old->absence))) {
    *old = message;
  }
}

void HostLinks::send_to_known(const LinkMessage& message) {
  for (auto& [fd, link] : links_) {
    if (link.is_known && !link.is_leaving) {
      send(link, message);
    }
  }
}

void HostLinks::send_absence(const LinkMessage& message) {
  const std::lock_guard lock(mutex_);
  if (has_left_) {
    return;
  }
  send_to_known(message);
  if (listener_) {
    keep(message);
  }
}

bool HostLinks::send_stuck(const LinkMessage& message) {
  const std::lock_guard lock(mutex_);
  if (!has_link_to_rank_0()) {
    return false;
  }
  send(links_.begin()->second, message);
  return true;
}

void HostLinks::send_written() {
  const std::lock_guard lock(mutex_);
  if (has_left_) {
    return;
  }
  const LinkMessage written{LinkMessageType::kWritten, 0, 0, 0};
  send_to_known(written);
  told_.push_back(written);
}

bool HostLinks::has_link_to_rank_0() const {
  return !has_left_ && !links_.empty() && !links_.begin()->second.is_leaving;
}

bool HostLinks::reaches_rank_0() const {
  const std::lock_guard lock(mutex_);
  return has_link_to_rank_0();
}

/// A connection that waits until the listener closes would be reset. A leader
/// whose key rank 0 has not read yet still needs the absences: its ranks may
/// wait in acp_reset. A stranger gets them too, and learns numbers of ranks.
void HostLinks::say_goodbye() {
  const std::lock_guard lock(mutex_);
  accept_all();
  has_left_ = true;
  for (auto& [fd, link] : links_) {
    if (!link.is_known) {
      send_told(link);
    }
    send(link, {LinkMessageType::kGoodbye, 0, 0, 0});
  }
}

}  // namespace acp::runtime
