// Sockets of the kernel: opening, buffer sizes, ports, sending and receiving.
// Never blocks; binds only loopback addresses.
#include "udp/kernel_socket.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/log.h"
#include "transport/socket_address.h"
#include "udp/address_card.h"

namespace acp::udp {

namespace {

using transport::SocketAddress;

/// Room for some 10,000 small datagrams or a few windows of large ones.
constexpr int kWantedBufferBytes = 4 << 20;

Result<Address> checked_address(std::string_view text) {
  const auto address = transport::parse_address(text);
  if (!address) {
    log_error(
        "ACP_UDP_ADDRESSES: \"{}\" is no IPv4 or IPv6 address; give local "
        "addresses separated by commas, such as 127.0.0.1,127.0.0.2",
        text);
    return Status::kBadOption;
  }
  if (!is_loopback(*address)) {
    log_error(
        "ACP_UDP_ADDRESSES: {} is not a loopback address; packets are not "
        "authenticated yet, so whoever reaches that address could write into "
        "the memory of this job: use 127.x.x.x or ::1",
        text);
    return Status::kBadOption;
  }
  return *address;
}

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

ssize_t send_two(int fd, SocketAddress* to, const Datagram& datagram) {
  const auto piece = [](std::span<const std::byte> bytes) {
    return iovec{const_cast<std::byte*>(bytes.data()), bytes.size()};
  };
  std::array<iovec, 2> pieces = {piece(datagram.head), piece(datagram.tail)};
  msghdr message{};
  message.msg_name = to != nullptr ? &to->any : nullptr;
  message.msg_namelen = to != nullptr ? transport::socket_bytes(*to) : 0;
  message.msg_iov = pieces.data();
  message.msg_iovlen = pieces.size();
  return ::sendmsg(fd, &message, kSendFlags);
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

bool bind_to(const UniqueFd& fd, const SocketAddress& address) {
  return ::bind(fd.get(), &address.any, transport::socket_bytes(address)) == 0;
}

/// Takes a free port of the address, then lets connected sockets share it. The
/// order matters: a socket that already shares may be given a port that another
/// process shares.
UniqueFd hold_port(const Address& address) {
  const SocketAddress own = transport::to_socket(address);
  UniqueFd fd = make_sender(own);
  return fd && bind_to(fd, own) && share_port(fd.get()) ? std::move(fd)
                                                        : UniqueFd();
}

/// Returns 0 or the errno value.
int send_by(int fd, SocketAddress* to, const Datagram& datagram) {
  const ssize_t sent = datagram.tail.empty() ? send_one(fd, to, datagram.head)
                                             : send_two(fd, to, datagram);
  return sent >= 0 ? 0 : errno;
}

bool has_no_room_now(int error) {
  return error == EAGAIN || error == ENOBUFS || error == EINTR;
}

}  // namespace

/// Opens the colors in the order of the list, so that the index of an address
/// is its color on every process.
Result<std::unique_ptr<KernelSocket>> KernelSocket::open(
    std::string_view addresses, bool warns) {
  std::unique_ptr<KernelSocket> socket(new KernelSocket);
  std::string_view rest = addresses.empty() ? "127.0.0.1" : addresses;
  for (bool is_last = false; !is_last;) {
    const std::size_t comma = rest.find(',');
    is_last = comma == std::string_view::npos;
    if (const Status status = socket->add_color(rest.substr(0, comma));
        status != Status::kOk) {
      return status;
    }
    rest = is_last ? "" : rest.substr(comma + 1);
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
Status KernelSocket::add_color(std::string_view text) {
  if (addresses_.size() == kMaxColors) {
    log_error("ACP_UDP_ADDRESSES: more than {} addresses", kMaxColors);
    return Status::kBadOption;
  }
  const Result<Address> address = checked_address(text);
  if (!address.ok()) {
    return address.status();
  }
  SocketAddress bound = transport::to_socket(address.value());
  socklen_t size = transport::socket_bytes(bound);
  UniqueFd fd(::socket(bound.any.sa_family,
                       SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd || ::bind(fd.get(), &bound.any, size) != 0 ||
      ::getsockname(fd.get(), &bound.any, &size) != 0) {
    log_error("udp: binding a socket to {}: {}; is the address set up here?",
              text, errno_text(errno));
    return Status::kSystem;
  }
  if (const Status status = size_buffers(fd.get()); status != Status::kOk) {
    return status;
  }
  addresses_.push_back(transport::to_address(bound));
  add_send_port(address.value());
  descriptors_.push_back(fd.get());
  sockets_.push_back(std::move(fd));
  return Status::kOk;
}

/// Reserves the port of the connected sockets. If that fails, connect() refuses
/// in this color, and the address card gives the listening port twice.
void KernelSocket::add_send_port(const Address& address) {
  UniqueFd holder = hold_port(address);
  SocketAddress bound{};
  socklen_t size = sizeof bound;
  if (holder && ::getsockname(holder.get(), &bound.any, &size) == 0) {
    send_ports_.push_back(transport::to_address(bound).port);
  } else {
    holder.reset();
    send_ports_.push_back(addresses_.back().port);
  }
  port_holders_.push_back(std::move(holder));
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

Status KernelSocket::send(transport::Color color,
                          const Address& to,
                          const Datagram& datagram) {
  SocketAddress address = transport::to_socket(to);
  const int error = send_by(descriptors_[color], &address, datagram);
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
  const SocketAddress own = transport::to_socket(from);
  const SocketAddress peer = transport::to_socket(to);
  const int room = kWantedBufferBytes;
  UniqueFd fd = make_sender(own);
  if (!fd || !share_port(fd.get()) || !bind_to(fd, own) ||
      ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDBUF, &room, sizeof room) != 0 ||
      ::connect(fd.get(), &peer.any, transport::socket_bytes(peer)) != 0) {
    return false;
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

std::optional<DatagramSocket::Arrival> KernelSocket::receive(
    transport::Color color, std::span<std::byte> buffer) {
  SocketAddress address{};
  socklen_t size = sizeof address;
  const ssize_t received =
      ::recvfrom(descriptors_[color], buffer.data(), buffer.size(),
                 MSG_DONTWAIT | MSG_TRUNC, &address.any, &size);
  if (received < 0) {
    return std::nullopt;  // nothing there, or an error of an earlier send
  }
  return Arrival{static_cast<std::size_t>(received),
                 transport::to_address(address)};
}

}  // namespace acp::udp
