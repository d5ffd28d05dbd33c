// DatagramSocket over the kernel: one UDP socket per color, and connected
// sockets that only send. Made by UdpTransport::open.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "base/unique_fd.h"
#include "status/result.h"
#include "transport/interfaces.h"
#include "transport/socket_address.h"
#include "udp/datagram_socket.h"

namespace acp::udp {

/// One thread at a time.
class KernelSocket final : public DatagramSocket {
 public:
  /// Binds a socket to each address, on a free port; the index of an address is
  /// its color. `warns`: log a warning when the kernel grants small buffers;
  /// only one process of a job sets it. kBadOption, kSystem: logged.
  static Result<std::unique_ptr<KernelSocket>> open(
      std::span<const transport::LocalAddress> addresses, bool warns);

  std::span<const Address> addresses() const noexcept override {
    return addresses_;
  }

  std::size_t receive_buffer_bytes() const noexcept override {
    return receive_buffer_bytes_;
  }

  std::size_t longest_train() const noexcept override {
    return refused_trains_ < kTrainsRefused ? kLongestTrain : 1;
  }

  Status send(transport::Color color,
              const Address& to,
              const Datagram& datagram) override;

  int send_error() const noexcept override { return send_error_; }

  std::span<const std::uint16_t> send_ports() const noexcept override {
    return send_ports_;
  }

  bool connect(std::size_t index,
               transport::Color color,
               const Address& to) override;
  Status send_connected(std::size_t index, const Datagram& datagram) override;

  void disconnect(std::size_t index) override { connections_[index].reset(); }

  std::optional<Arrival> receive(transport::Color color,
                                 std::span<std::byte> buffer) override;

  bool has_backlog() const noexcept override;

  std::span<const int> descriptors() const noexcept override {
    return descriptors_;
  }

 private:
  /// Datagrams of a color that the kernel has received as one (UDP_GRO).
  struct Arrived {
    std::vector<std::byte> buffer;  ///< Empty on the loopback.
    std::span<std::byte> left;
    std::size_t step = 0;  ///< Bytes of each datagram; the last may be shorter.
    Address from;
    Duration waited{};  ///< Arrival::waited of each.
  };

  /// So many refused trains show that the system or an interface has none.
  static constexpr std::uint32_t kTrainsRefused = 8;

  KernelSocket() = default;
  [[nodiscard]] Status add_color(const transport::LocalAddress& local);
  void add_send_port(transport::Color color);
  transport::SocketAddress socket_address(transport::Color color,
                                          const Address& address) const;
  [[nodiscard]] Status size_buffers(int fd);
  int send_fragmented(transport::Color color,
                      transport::SocketAddress& to,
                      const Datagram& datagram);
  int send_by(int fd, transport::SocketAddress* to, const Datagram& datagram);
  std::optional<Arrival> receive_one(transport::Color color,
                                     std::span<std::byte> buffer);
  bool receive_train(transport::Color color);

  // The engine's mutex guards these fields. All vectors are by color, and
  // open() fills them through add_color(). Later only arrived_ changes.
  std::vector<UniqueFd> sockets_;
  std::vector<int> descriptors_;
  std::vector<UniqueFd> port_holders_;  ///< Reserve the send ports.
  std::vector<std::uint16_t> send_ports_;
  /// By index. Written by connect() and disconnect().
  std::array<UniqueFd, kConnections> connections_;
  std::vector<Address> addresses_;
  std::vector<std::uint32_t> scopes_;  ///< LocalAddress::scope.
  /// receive_train() fills an entry, and receive() takes datagrams from it.
  std::vector<Arrived> arrived_;
  /// The least of all colors. Written by size_buffers().
  std::size_t receive_buffer_bytes_ = 0;
  int send_error_ = 0;                ///< Written by send().
  std::uint32_t refused_trains_ = 0;  ///< Counted by send_by().
};

}  // namespace acp::udp
