// Sockets of the kernel: opening, buffer sizes, ports, sending and receiving.
// UdpTransport::open makes it, and the transport and its endpoints send and
// receive by it. It never blocks, and does not decide which addresses may be
// bound.
#include "udp/kernel_socket.h"

#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/assert.h"
#include "base/inline_vector.h"
#include "base/log.h"
#include "transport/socket_address.h"
#include "udp/address_card.h"

namespace acp::udp {

namespace {

using transport::SocketAddress;

/// Room for some 10,000 small datagrams or a few windows of large ones.
constexpr int kWantedBufferBytes = 4 << 20;

/// The largest datagram, of one or of a train.
constexpr std::size_t kArrivedBytes = std::size_t{64} << 10;

std::size_t granted_bytes(int fd) {
  int granted = 0;
  socklen_t size = sizeof granted;
  if (::getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &granted, &size) != 0) {
    return 0;
  }
  return static_cast<std::size_t>(granted);
}

constexpr int kSendFlags = MSG_DONTWAIT | MSG_NOSIGNAL;

/// `to` is null for a connected socket.
ssize_t send_one(int fd,
                 const SocketAddress* to,
                 std::span<const std::byte> datagram) {
  return ::sendto(fd, datagram.data(), datagram.size(), kSendFlags,
                  to != nullptr ? &to->any : nullptr,
                  to != nullptr ? transport::socket_bytes(*to) : 0);
}

iovec piece(std::span<const std::byte> bytes) {
  return {const_cast<std::byte*>(bytes.data()), bytes.size()};
}

msghdr message_to(SocketAddress* to, std::span<iovec> pieces) {
  msghdr message{};
  message.msg_name = to != nullptr ? &to->any : nullptr;
  message.msg_namelen = to != nullptr ? transport::socket_bytes(*to) : 0;
  message.msg_iov = pieces.data();
  message.msg_iovlen = pieces.size();
  return message;
}

ssize_t send_two(int fd, SocketAddress* to, const Datagram& datagram) {
  std::array<iovec, 2> pieces = {piece(datagram.head), piece(datagram.tail)};
  const msghdr message = message_to(to, pieces);
  return ::sendmsg(fd, &message, kSendFlags);
}

/// Room for one control message with a number.
template <typename Number>
struct alignas(cmsghdr) ControlRoom {
  std::array<char, CMSG_SPACE(sizeof(Number))> bytes{};
};

/// The kernel divides the train: once through its layers instead of once for
/// each datagram, and the interface may do it. It collects the pieces, so that
/// no copy of them is made here.
ssize_t send_train(int fd, SocketAddress* to, const Datagram& datagram) {
  InlineVector<iovec, kTrainPieces> pieces;
  for (const std::span<const std::byte> bytes : datagram.train) {
    pieces.push_back(piece(bytes));
  }
  msghdr message = message_to(to, pieces);
  ControlRoom<std::uint16_t> room;
  message.msg_control = room.bytes.data();
  message.msg_controllen = room.bytes.size();
  cmsghdr* control = CMSG_FIRSTHDR(&message);
  control->cmsg_level = SOL_UDP;
  control->cmsg_type = UDP_SEGMENT;
  control->cmsg_len = CMSG_LEN(sizeof(std::uint16_t));
  const auto step = static_cast<std::uint16_t>(datagram.train_step);
  std::memcpy(CMSG_DATA(control), &step, sizeof step);
  return ::sendmsg(fd, &message, kSendFlags);
}

Duration duration_of(const timespec& time) {
  return std::chrono::seconds(time.tv_sec) +
         std::chrono::nanoseconds(time.tv_nsec);
}

/// The kernel stamps datagrams by this clock.
Duration real_time() {
  timespec now{};
  (void)::clock_gettime(CLOCK_REALTIME, &now);
  return duration_of(now);
}

template <typename Value>
Value value_of(const cmsghdr& control) {
  Value value{};
  std::memcpy(&value, CMSG_DATA(&control), sizeof value);
  return value;
}

/// The kernel's control messages with a datagram that has arrived.
struct Notes {
  std::size_t step = 0;  ///< Size of each datagram of a train; 0: it is none.
  Duration came{};       ///< When it came, in real_time(); 0: not known.
};

Notes read_notes(msghdr& message) {
  Notes notes;
  for (cmsghdr* control = CMSG_FIRSTHDR(&message); control != nullptr;
       control = CMSG_NXTHDR(&message, control)) {
    if (control->cmsg_level == SOL_UDP && control->cmsg_type == UDP_GRO) {
      notes.step =
          static_cast<std::size_t>(std::max(value_of<int>(*control), 0));
    } else if (control->cmsg_level == SOL_SOCKET &&
               control->cmsg_type == SCM_TIMESTAMPNS) {
      notes.came = duration_of(value_of<timespec>(*control));
    }
  }
  return notes;
}

/// Sends the datagrams of a train each alone. Returns the errno value of the
/// first; later ones that fail are lost. Joins the pieces of each, because few
/// trains are refused.
int send_singly(int fd, SocketAddress* to, const Datagram& train) {
  std::vector<std::byte> all;
  all.reserve(train.size());
  for (const std::span<const std::byte> piece : train.train) {
    all.insert(all.end(), piece.begin(), piece.end());
  }
  std::span<const std::byte> left = all;
  for (bool is_first = true; !left.empty(); is_first = false) {
    const auto one = left.first(std::min(train.train_step, left.size()));
    if (send_one(fd, to, one) < 0 && is_first) {
      return errno;
    }
    left = left.subspan(one.size());
  }
  return 0;
}

/// Whether a kernel or an interface has no trains, by the errno value that it
/// answers. EINVAL also means that a datagram is larger than the interface's
/// MTU.
bool is_no_train(int error) {
  return error == EINVAL || error == EIO || error == EOPNOTSUPP ||
         error == ENOPROTOOPT;
}

/// The kernel hands over datagrams of one sender together, and says when they
/// came. A kernel that does neither is as good, but slower.
void ask_for_notes(int fd) {
  const int yes = 1;
  (void)::setsockopt(fd, SOL_UDP, UDP_GRO, &yes, sizeof yes);
  (void)::setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &yes, sizeof yes);
}

bool share_port(int fd) {
  const int yes = 1;
  return ::setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof yes) == 0;
}

/// A socket that is only sent by: its receive buffer is the smallest possible.
/// Empty when the system gives none.
UniqueFd make_sender(const SocketAddress& address) {
  const int least = 0;
  UniqueFd fd(::socket(address.any.sa_family,
                       SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (fd) {
    (void)::setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUF, &least, sizeof least);
  }
  return fd;
}

/// With the option on, no router divides a datagram, and the kernel refuses one
/// above the interface's MTU. It does not believe ICMP messages about smaller
/// paths (PMTUDISC_PROBE): anybody could send those.
void forbid_fragments(int fd, const SocketAddress& address, bool forbids) {
  const bool is_v4 = address.any.sa_family == AF_INET;
  const int v4 = forbids ? IP_PMTUDISC_PROBE : IP_PMTUDISC_DONT;
  const int v6 = forbids ? IPV6_PMTUDISC_PROBE : IPV6_PMTUDISC_DONT;
  (void)::setsockopt(fd, is_v4 ? IPPROTO_IP : IPPROTO_IPV6,
                     is_v4 ? IP_MTU_DISCOVER : IPV6_MTU_DISCOVER,
                     is_v4 ? &v4 : &v6, sizeof v4);
}

bool bind_to(const UniqueFd& fd, const SocketAddress& address) {
  return ::bind(fd.get(), &address.any, transport::socket_bytes(address)) == 0;
}

/// Takes a free port of the address, then lets connected sockets share it. The
/// order matters: a socket that already shares may be given a port that another
/// process shares.
UniqueFd reserve_port(const SocketAddress& own) {
  UniqueFd fd = make_sender(own);
  return fd && bind_to(fd, own) && share_port(fd.get()) ? std::move(fd)
                                                        : UniqueFd();
}

bool has_no_room_now(int error) {
  return error == EAGAIN || error == ENOBUFS || error == EINTR;
}

}  // namespace

/// Makes the sockets of all colors before it warns: add_color() finds the
/// smallest buffer, and one line per process is enough.
Result<std::unique_ptr<KernelSocket>> KernelSocket::open(
    std::span<const transport::LocalAddress> addresses, bool warns) {
  ACP_ASSERT(!addresses.empty() && addresses.size() <= kMaxColors);
  std::unique_ptr<KernelSocket> socket(new KernelSocket);
  for (const transport::LocalAddress& local : addresses) {
    if (const Status status = socket->add_color(local); status != Status::kOk) {
      return status;
    }
  }
  // The kernel reports twice the size that was asked for.
  if (warns && socket->receive_buffer_bytes_ < 2 * kWantedBufferBytes) {
    log_warning(
        "udp: the kernel grants receive buffers of {} bytes, {} were asked "
        "for; bursts will be lost and sent again. To raise it: sysctl -w "
        "net.core.rmem_max={}",
        socket->receive_buffer_bytes_ / 2, kWantedBufferBytes,
        kWantedBufferBytes);
  }
  return socket;
}

/// Binds before it sizes the buffers: the bind fails first when the address is
/// wrong. The bound port is read back, because the kernel chooses it.
Status KernelSocket::add_color(const transport::LocalAddress& local) {
  const auto color = static_cast<transport::Color>(addresses_.size());
  scopes_.push_back(local.scope);
  SocketAddress bound = socket_address(color, local.address);
  socklen_t size = transport::socket_bytes(bound);
  UniqueFd fd(::socket(bound.any.sa_family,
                       SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd || ::bind(fd.get(), &bound.any, size) != 0 ||
      ::getsockname(fd.get(), &bound.any, &size) != 0) {
    log_error("udp: binding a socket to {}: {}; is the address set up here?",
              transport::format_address(local.address), errno_text(errno));
    return Status::kSystem;
  }
  arrived_.emplace_back();
  if (!transport::is_loopback(local.address)) {
    forbid_fragments(fd.get(), bound, true);
    ask_for_notes(fd.get());
    arrived_.back().buffer.resize(kArrivedBytes);
  }
  if (const Status status = size_buffers(fd.get()); status != Status::kOk) {
    return status;
  }
  addresses_.push_back(transport::to_address(bound));
  add_send_port(color);
  descriptors_.push_back(fd.get());
  sockets_.push_back(std::move(fd));
  return Status::kOk;
}

/// Reserves the port of the connected sockets. If that fails, connect() refuses
/// in this color, and the address card gives the listening port twice.
void KernelSocket::add_send_port(transport::Color color) {
  Address any_port = addresses_[color];
  any_port.port = 0;
  UniqueFd holder = reserve_port(socket_address(color, any_port));
  SocketAddress bound{};
  socklen_t size = sizeof bound;
  if (holder && ::getsockname(holder.get(), &bound.any, &size) == 0) {
    send_ports_.push_back(transport::to_address(bound).port);
  } else {
    holder.reset();
    send_ports_.push_back(addresses_[color].port);
  }
  port_holders_.push_back(std::move(holder));
}

/// A link-local address, our own or a peer's, is in the network of the color's
/// interface; the kernel asks for that.
SocketAddress KernelSocket::socket_address(transport::Color color,
                                           const Address& address) const {
  SocketAddress out = transport::to_socket(address);
  if (transport::is_link_local(address)) {
    out.v6.sin6_scope_id = scopes_[color];
  }
  return out;
}

Status KernelSocket::size_buffers(int fd) {
  const int wanted = kWantedBufferBytes;
  if (::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &wanted, sizeof wanted) != 0 ||
      ::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &wanted, sizeof wanted) != 0) {
    log_error("udp: socket buffers of {} bytes: {}", wanted, errno_text(errno));
    return Status::kSystem;
  }
  const std::size_t granted = granted_bytes(fd);
  receive_buffer_bytes_ = receive_buffer_bytes_ == 0
                              ? granted
                              : std::min(receive_buffer_bytes_, granted);
  return Status::kOk;
}

/// Returns 0 or the errno value.
int KernelSocket::send_by(int fd, SocketAddress* to, const Datagram& datagram) {
  if (datagram.train_step == 0) {
    const ssize_t sent = datagram.tail.empty() ? send_one(fd, to, datagram.head)
                                               : send_two(fd, to, datagram);
    return sent >= 0 ? 0 : errno;
  }
  if (send_train(fd, to, datagram) >= 0) {
    return 0;
  }
  if (!is_no_train(errno)) {
    return errno;
  }
  ++refused_trains_;
  return send_singly(fd, to, datagram);
}

/// The option belongs to the socket, so it is set for the one datagram that is
/// larger than its path. That is rare: the path has become smaller.
int KernelSocket::send_fragmented(transport::Color color,
                                  SocketAddress& to,
                                  const Datagram& datagram) {
  forbid_fragments(descriptors_[color], to, false);
  const int error = send_by(descriptors_[color], &to, datagram);
  forbid_fragments(descriptors_[color], to, true);
  return error;
}

Status KernelSocket::send(transport::Color color,
                          const Address& to,
                          const Datagram& datagram) {
  SocketAddress address = socket_address(color, to);
  const int error = datagram.may_be_fragmented
                        ? send_fragmented(color, address, datagram)
                        : send_by(descriptors_[color], &address, datagram);
  if (has_no_room_now(error)) {
    return Status::kAgain;
  }
  if (error != 0) {
    send_error_ = error;
    return Status::kSystem;
  }
  return Status::kOk;
}

/// The socket is bound before it is connected: peers check that datagrams come
/// from the color's second port.
bool KernelSocket::connect(std::size_t index,
                           transport::Color color,
                           const Address& to) {
  if (!port_holders_[color]) {
    return false;
  }
  Address from = addresses_[color];
  from.port = send_ports_[color];
  const SocketAddress own = socket_address(color, from);
  const SocketAddress peer = socket_address(color, to);
  const int room = kWantedBufferBytes;
  UniqueFd fd = make_sender(own);
  if (!fd || !share_port(fd.get()) || !bind_to(fd, own) ||
      ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDBUF, &room, sizeof room) != 0 ||
      ::connect(fd.get(), &peer.any, transport::socket_bytes(peer)) != 0) {
    return false;
  }
  if (!transport::is_loopback(from)) {
    forbid_fragments(fd.get(), own, true);
  }
  connections_[index] = std::move(fd);
  return true;
}

Status KernelSocket::send_connected(std::size_t index,
                                    const Datagram& datagram) {
  const int error = send_by(connections_[index].get(), nullptr, datagram);
  return error == 0               ? Status::kOk
         : has_no_room_now(error) ? Status::kAgain
                                  : Status::kSystem;
}

/// The datagrams of a train stay where the kernel has put them: a copy of each
/// would be a pass over all bytes.
std::optional<DatagramSocket::Arrival> KernelSocket::receive(
    transport::Color color, std::span<std::byte> buffer) {
  Arrived& arrived = arrived_[color];
  if (arrived.buffer.empty()) {
    return receive_one(color, buffer);
  }
  if (arrived.left.empty() && !receive_train(color)) {
    return std::nullopt;
  }
  const auto datagram =
      arrived.left.first(std::min(arrived.step, arrived.left.size()));
  arrived.left = arrived.left.subspan(datagram.size());
  return Arrival{datagram.size(), arrived.from, arrived.waited, datagram,
                 !arrived.left.empty()};
}

/// False: nothing is there. A datagram without bytes counts as nothing.
bool KernelSocket::receive_train(transport::Color color) {
  Arrived& arrived = arrived_[color];
  SocketAddress address{};
  iovec room{arrived.buffer.data(), arrived.buffer.size()};
  msghdr message = message_to(nullptr, {&room, 1});
  message.msg_name = &address.any;
  message.msg_namelen = sizeof address;
  alignas(cmsghdr) std::array<char, 128> control{};
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t received =
      ::recvmsg(descriptors_[color], &message, MSG_DONTWAIT);
  if (received <= 0) {
    return false;
  }
  arrived.left =
      std::span(arrived.buffer).first(static_cast<std::size_t>(received));
  const Notes notes = read_notes(message);
  arrived.step = notes.step != 0 ? notes.step : arrived.left.size();
  arrived.from = transport::to_address(address);
  arrived.waited = notes.came == Duration(0)
                       ? Duration(0)
                       : std::max(real_time() - notes.came, Duration(0));
  return true;
}

bool KernelSocket::has_backlog() const noexcept {
  return std::ranges::any_of(
      arrived_, [](const Arrived& one) { return !one.left.empty(); });
}

std::optional<DatagramSocket::Arrival> KernelSocket::receive_one(
    transport::Color color, std::span<std::byte> buffer) {
  SocketAddress address{};
  socklen_t size = sizeof address;
  const ssize_t received =
      ::recvfrom(descriptors_[color], buffer.data(), buffer.size(),
                 MSG_DONTWAIT | MSG_TRUNC, &address.any, &size);
  if (received < 0) {
    return std::nullopt;  // nothing there, or an error of an earlier send
  }
  const auto bytes = static_cast<std::size_t>(received);
  return Arrival{.bytes = bytes,
                 .from = transport::to_address(address),
                 .datagram = buffer.first(std::min(bytes, buffer.size()))};
}

}  // namespace acp::udp
