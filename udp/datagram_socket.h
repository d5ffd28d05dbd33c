// What carries datagrams: sockets, or a network inside a test. Unreliable:
// anything may be lost, doubled, reordered or damaged.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "base/status.h"
#include "transport/address.h"
#include "transport/transport.h"

namespace acp::udp {

using transport::Address;
using transport::Family;

/// Connected sockets of a wire, each with a number below this.
inline constexpr std::size_t kConnections = 16;

/// A datagram to be sent: one byte string in two pieces.
struct Datagram {
  std::span<const std::byte> head;
  std::span<const std::byte> tail;

  std::size_t size() const noexcept { return head.size() + tail.size(); }
};

/// One thread at a time. Nothing blocks, nothing allocates per datagram.
class DatagramSocket {
 public:
  /// A datagram that arrived. `bytes` beyond the buffer were cut off, which
  /// makes it useless.
  struct Arrival {
    std::size_t bytes = 0;
    Address from;
  };

  DatagramSocket() = default;
  DatagramSocket(const DatagramSocket&) = delete;
  DatagramSocket& operator=(const DatagramSocket&) = delete;
  virtual ~DatagramSocket() = default;

  /// Where this process listens, one address per color.
  virtual std::span<const Address> addresses() const noexcept = 0;

  /// Charged bytes (see charge()) that the receive buffer of one color takes.
  virtual std::size_t receive_buffer_bytes() const noexcept = 0;

  /// Sends from the address of `color`. kOk: handed over. kAgain: no room now.
  /// kSystem: the system refuses it, and send_error() says why.
  [[nodiscard]] virtual Status send(transport::Color color,
                                    const Address& to,
                                    const Datagram& datagram) = 0;

  /// The errno value of the last send() that was kSystem.
  virtual int send_error() const noexcept = 0;

  /// Per color, the second port that its datagrams may come from: what goes
  /// through a connection does. No other user has it while the wire lives.
  virtual std::span<const std::uint16_t> send_ports() const noexcept = 0;

  /// Opens connection `index`, which is not open, from `color` to `to`.
  /// Nothing comes through it. False: there is none to be had.
  virtual bool connect(std::size_t index,
                       transport::Color color,
                       const Address& to) = 0;

  /// kSystem: it did not go, and should go by send().
  [[nodiscard]] virtual Status send_connected(std::size_t index,
                                              const Datagram& datagram) = 0;

  virtual void disconnect(std::size_t index) = 0;

  /// The next datagram that came to the address of `color`; nothing when
  /// there is none now.
  virtual std::optional<Arrival> receive(transport::Color color,
                                         std::span<std::byte> buffer) = 0;

  /// Datagrams are kept here that descriptors() do not show.
  virtual bool has_backlog() const noexcept { return false; }

  /// Readable when a datagram is there; valid as long as the wire.
  virtual std::span<const int> descriptors() const noexcept = 0;
};

}  // namespace acp::udp
