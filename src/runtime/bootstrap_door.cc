// Connects the ranks of one host. Called by the bootstrap under other launchers
// than acprun, in acp_init. Each wait is a poll with the caller's limit. It may
// not read from a process before the kernel has named its user, and turns away
// processes that are no rank of the job.
#include "runtime/bootstrap_door.h"

#include <fmt/core.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/log.h"
#include "base/number_list.h"
#include "runtime/bootstrap_socket.h"
#include "runtime/process_watch.h"

namespace acp::runtime {

namespace {

using protocol::BootstrapType;

/// The bytes and length of an abstract address.
struct AbstractAddress {
  explicit AbstractAddress(const std::string& name) {
    address.sun_family = AF_UNIX;
    const std::size_t bytes =
        std::min(name.size(), sizeof address.sun_path - 1);
    std::memcpy(address.sun_path + 1, name.data(), bytes);
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + bytes);
  }

  const sockaddr* get() const noexcept {
    return reinterpret_cast<const sockaddr*>(&address);
  }

  sockaddr_un address{};
  socklen_t size = 0;
};

UniqueFd packet_socket() {
  return UniqueFd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
}

/// Whether the process at the other end belongs to this user, and which process
/// it is. The kernel says so; no message can lie about it.
bool is_own_process(int socket, pid_t& process) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
      peer.uid != ::geteuid()) {
    return false;
  }
  process = peer.pid;
  return true;
}

std::string encode_cpus(const CpuMask& cpus) {
  return {reinterpret_cast<const char*>(&cpus), sizeof cpus};
}

/// Whether the wait may go on; the reason against it is logged.
Status check_wait(int found, bool is_over) {
  if (found < 0 && errno != EINTR) {
    log_error("poll: {}", errno_text(errno));
    return Status::kSystem;
  }
  if (is_over) {
    log_error("the launcher is gone before all ranks were in acp_init");
    return Status::kAborted;
  }
  return found == 0 ? Status::kTimedOut : Status::kOk;
}

}  // namespace

/// The kernel shows abstract names to all users of the host. A random one keeps
/// jobs apart; is_own_process() keeps other users out.
Result<Door> Door::open() {
  std::array<std::uint64_t, 2> random{};
  if (::getrandom(random.data(), sizeof random, 0) !=
      static_cast<ssize_t>(sizeof random)) {
    log_error("getrandom: {}", errno_text(errno));
    return Status::kSystem;
  }
  Door door;
  door.name_ = fmt::format("acp-door-{:016x}{:016x}", random[0], random[1]);
  door.socket_ = packet_socket();
  const AbstractAddress address(door.name_);
  if (!door.socket_ ||
      ::bind(door.socket_.get(), address.get(), address.size) != 0 ||
      ::listen(door.socket_.get(), SOMAXCONN) != 0) {
    log_error("socket for the ranks of this host: {}", errno_text(errno));
    return Status::kSystem;
  }
  return door;
}

namespace {

/// Connections that have not said Hello, beside those of the missing ranks.
/// Only processes of this user are among them.
constexpr std::size_t kMostStrangers = 16;

/// The connections of one gather(), on its thread.
class Gathering {
 public:
  Gathering(int door, std::span<const std::uint32_t> ranks)
      : door_(door), ranks_(ranks), peers_(ranks.size()) {}

  bool is_complete() const {
    return std::ranges::all_of(peers_, [](const HostPeer& peer) {
      return static_cast<bool>(peer.socket);
    });
  }

  std::vector<HostPeer> take() { return std::move(peers_); }

  std::vector<std::uint32_t> missing() const {
    std::vector<std::uint32_t> ranks;
    for (std::size_t i = 0; i < peers_.size(); ++i) {
      if (!peers_[i].socket) {
        ranks.push_back(ranks_[i]);
      }
    }
    return ranks;
  }

  /// Waits for the next connection, message or death, and takes it.
  Status turn(const WaitLimit& limit) {
    std::vector<pollfd> ready = {{door_, POLLIN, 0},
                                 {limit.end_fd, limit.end_events, 0}};
    for (const HostPeer& guest : guests_) {
      ready.push_back({guest.socket.get(), POLLIN, 0});
    }
    for (const HostPeer& peer : peers_) {
      ready.push_back({peer.socket ? peer.socket.get() : -1, POLLIN, 0});
    }
    const int found =
        ::poll(ready.data(), ready.size(), limit.poll_timeout_ms());
    Status status = check_wait(found, ready[1].revents != 0);
    if (status != Status::kOk) {
      return status;
    }
    const auto peers = std::span(ready).subspan(2 + guests_.size());
    for (std::size_t i = 0; i < peers.size(); ++i) {
      if (peers[i].revents != 0) {
        log_error(
            "rank {} (pid {}) has left acp_init before all ranks were "
            "there",
            ranks_[i], peers_[i].process);
        return Status::kAborted;
      }
    }
    for (std::size_t i = guests_.size(); i-- > 0;) {
      if (ready[2 + i].revents != 0) {
        admit(i);
      }
    }
    return ready[0].revents != 0 ? accept_one() : Status::kOk;
  }

 private:
  /// A connection is a guest until admit() has read its Hello. A caller that
  /// gives up, or a process of another user, must not make the whole job fail.
  /// Only a lack of file descriptors ends the wait. A rank says Hello as soon
  /// as it is connected, so of too many guests the oldest one is none.
  Status accept_one() {
    if (guests_.size() >= ranks_.size() + kMostStrangers) {
      turn_away(guests_.front());
      guests_.erase(guests_.begin());
    }
    UniqueFd socket(::accept4(door_, nullptr, nullptr, SOCK_CLOEXEC));
    if (!socket) {
      // The other side may have given up meanwhile.
      if (errno == EMFILE || errno == ENFILE) {
        log_error(
            "accepting a rank of this host: {}; raise the limit of open files "
            "(ulimit -n)",
            errno_text(errno));
        return Status::kSystem;
      }
      return Status::kOk;
    }
    HostPeer guest;
    if (is_own_process(socket.get(), guest.process)) {
      guest.socket = std::move(socket);
      guests_.push_back(std::move(guest));
    }
    return Status::kOk;
  }

  /// Takes the first message of a guest. A guest that says something else than
  /// Hello, or the number of a rank that is here already, is turned away.
  void admit(std::size_t index) {
    HostPeer guest = std::move(guests_[index]);
    guests_.erase(guests_.begin() + static_cast<std::ptrdiff_t>(index));
    const ReceivedMessage received =
        receive_message(guest.socket.get(), Waiting::kNever);
    const protocol::BootstrapMessage& message = received.message;
    const auto rank = std::ranges::find(ranks_, message.value);
    const bool is_hello = received.kind == ReceivedMessage::Kind::kMessage &&
                          message.type == BootstrapType::kHello &&
                          message.text.size() == sizeof guest.cpus &&
                          rank != ranks_.end();
    HostPeer& peer =
        peers_[is_hello ? static_cast<std::size_t>(rank - ranks_.begin()) : 0];
    if (!is_hello || peer.socket) {
      turn_away(guest);
      return;
    }
    std::memcpy(&guest.cpus, message.text.data(), sizeof guest.cpus);
    guest.rank = *rank;
    guest.life = watch_process(guest.process);
    peer = std::move(guest);
  }

  static void turn_away(const HostPeer& guest) {
    log_warning(
        "the process with pid {} is turned away: it is no rank of this job",
        guest.process);
  }

  int door_;
  std::span<const std::uint32_t> ranks_;
  std::vector<HostPeer> guests_;  ///< Have not said Hello yet.
  std::vector<HostPeer> peers_;   ///< In the order of ranks_.
};

}  // namespace

Result<std::vector<HostPeer>> Door::gather(std::span<const std::uint32_t> ranks,
                                           const WaitLimit& limit) {
  Gathering gathering(socket_.get(), ranks);
  while (!gathering.is_complete()) {
    Status status = gathering.turn(limit);
    // Processes of other users may connect again and again.
    if (status == Status::kOk && !gathering.is_complete() &&
        SteadyClock().now() >= limit.deadline) {
      status = Status::kTimedOut;
    }
    if (status == Status::kTimedOut) {
      log_error(
          "rank {} of this host did not come to acp_init in time; if it needs "
          "longer before acp_init, set ACP_INIT_TIMEOUT",
          describe_numbers(gathering.missing()));
    }
    if (status != Status::kOk) {
      return status;
    }
  }
  return gathering.take();
}

namespace {

/// A refusal here means that the two processes share less than the launcher
/// says.
Status connect_to(const HostRecord& host,
                  std::uint32_t leader,
                  UniqueFd& socket,
                  pid_t& process) {
  const AbstractAddress address(host.door);
  socket = packet_socket();
  if (!socket || ::connect(socket.get(), address.get(), address.size) != 0) {
    log_error(
        "rank {} on {}, which the launcher places on this host too, cannot be "
        "reached: {}; if the ranks run in containers, give them one network "
        "namespace for each host",
        leader, host.host_name, errno_text(errno));
    return Status::kSystem;
  }
  if (!is_own_process(socket.get(), process)) {
    log_error("the socket of rank {} belongs to another user", leader);
    return Status::kProtocol;
  }
  return Status::kOk;
}

}  // namespace

/// Watches the leader from its connection on, and says Hello. Then it waits for
/// the Welcome, for the end of the launcher, or for the deadline, since the
/// leader answers only when all ranks of the host have come.
Result<Admission> enter_door(const HostRecord& host,
                             std::uint32_t leader,
                             std::uint32_t rank,
                             const WaitLimit& limit) {
  Admission admission;
  HostPeer& peer = admission.leader;
  peer.rank = leader;
  Status status = connect_to(host, leader, peer.socket, peer.process);
  if (status != Status::kOk) {
    return status;
  }
  peer.life = watch_process(peer.process);
  // A failure shows as a closed socket below.
  (void)send_message(peer.socket.get(), {BootstrapType::kHello, rank,
                                         encode_cpus(allowed_cpus())});
  std::array<pollfd, 2> ready{
      {{peer.socket.get(), POLLIN, 0}, {limit.end_fd, limit.end_events, 0}}};
  int found = 0;
  do {
    found = ::poll(ready.data(), ready.size(), limit.poll_timeout_ms());
    status = check_wait(found, ready[1].revents != 0);
  } while (status == Status::kOk && found < 0);
  if (status == Status::kTimedOut) {
    log_error(
        "rank {} of this host does not answer: not all ranks of the host came "
        "to acp_init in time; if they need longer before acp_init, set "
        "ACP_INIT_TIMEOUT",
        leader);
  }
  if (status != Status::kOk) {
    return status;
  }
  ReceivedMessage received =
      receive_message(peer.socket.get(), Waiting::kNever);
  if (received.kind != ReceivedMessage::Kind::kMessage ||
      received.message.type != BootstrapType::kWelcome || !received.attached) {
    log_error(
        "rank {} (pid {}) of this host has left acp_init before all ranks "
        "were there",
        leader, peer.process);
    return Status::kAborted;
  }
  admission.memory = std::move(received.attached);
  return admission;
}

Status welcome(const HostPeer& peer, int memory) {
  const int error = send_message(
      peer.socket.get(), {BootstrapType::kWelcome, peer.rank, {}}, memory);
  if (error != 0) {
    log_error("rank {} (pid {}) has left acp_init: {}", peer.rank, peer.process,
              errno_text(error));
    return Status::kAborted;
  }
  return Status::kOk;
}

}  // namespace acp::runtime
