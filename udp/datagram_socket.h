// The interface through which the transport sends and receives datagrams.
// Implemented by sockets and by a network inside a test. Unreliable: a datagram
// may be lost, doubled, reordered or damaged.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "base/clock.h"
#include "status/status.h"
#include "transport/address.h"
#include "transport/transport.h"

namespace acp::udp {

using transport::Address;
using transport::Family;

/// Connected sockets that one DatagramSocket can have, numbered from 0.
inline constexpr std::size_t kConnections = 16;

/// Datagrams of a train, at most: a kernel before 6.9 takes no more.
inline constexpr std::size_t kLongestTrain = 64;

/// Pieces of memory that the datagrams of a train consist of, at most. Each
/// datagram has a head, and perhaps a tail.
inline constexpr std::size_t kTrainPieces = 2 * kLongestTrain;

/// A datagram to be sent: `tail` follows `head` in the same datagram. Or a
/// train of datagrams, then without head and tail.
struct Datagram {
  std::span<const std::byte> head;
  std::span<const std::byte> tail;
  /// The bytes of a train's datagrams, one datagram behind the other.
  std::span<const std::span<const std::byte>> train{};
  /// In a train the bytes of each datagram; the last one may be shorter. 0: no
  /// train.
  std::size_t train_step = 0;
  /// Larger than the path: routers may divide it. Otherwise they drop what is
  /// too large, and the sender finds the size that passes.
  bool may_be_fragmented = false;

  std::size_t size() const noexcept {
    std::size_t bytes = head.size() + tail.size();
    for (const std::span<const std::byte> piece : train) {
      bytes += piece.size();
    }
    return bytes;
  }

  std::size_t datagrams() const noexcept {
    return train_step == 0 ? 1 : (size() + train_step - 1) / train_step;
  }
};

/// One thread at a time. No call blocks, and none allocates per datagram.
class DatagramSocket {
 public:
  /// A datagram that arrived. `bytes` above the size of the buffer means that
  /// the datagram was truncated, and cannot be used.
  struct Arrival {
    std::size_t bytes = 0;
    Address from;
    /// How long it has waited in this host for receive(); 0: not known. All
    /// datagrams of one train have waited until the train was taken.
    Duration waited{};
    /// Its bytes: in the buffer, or in memory of the socket that is valid until
    /// the next receive(). The user may change them.
    std::span<std::byte> datagram{};
    /// The next receive() of this color gives the next datagram of its train.
    bool has_next_of_train = false;
  };

  DatagramSocket() = default;
  DatagramSocket(const DatagramSocket&) = delete;
  DatagramSocket& operator=(const DatagramSocket&) = delete;
  virtual ~DatagramSocket() = default;

  /// Where this process listens, one address per color.
  virtual std::span<const Address> addresses() const noexcept = 0;

  /// Size of the receive buffer of one color, in charged bytes (see charge()).
  virtual std::size_t receive_buffer_bytes() const noexcept = 0;

  /// How many datagrams one call may send as a train. 1: no trains.
  virtual std::size_t longest_train() const noexcept { return 1; }

  /// Sends from the address of `color`. kOk: handed over, a train at least in
  /// part. kAgain: no room now. kSystem: the system refuses it, and
  /// send_error() says why.
  [[nodiscard]] virtual Status send(transport::Color color,
                                    const Address& to,
                                    const Datagram& datagram) = 0;

  /// The errno value of the last send() that was kSystem.
  virtual int send_error() const noexcept = 0;

  /// Per color, the port that its connected sockets send from. It is reserved
  /// for this user as long as the object lives.
  virtual std::span<const std::uint16_t> send_ports() const noexcept = 0;

  /// Opens connection `index`, which is not open, from `color` to `to`. It only
  /// sends. False: the system has none to give.
  virtual bool connect(std::size_t index,
                       transport::Color color,
                       const Address& to) = 0;

  /// kOk, kAgain: as send(). kSystem: not sent; the caller uses send() instead.
  [[nodiscard]] virtual Status send_connected(std::size_t index,
                                              const Datagram& datagram) = 0;

  virtual void disconnect(std::size_t index) = 0;

  /// Takes the next datagram that came to the address of `color`; nothing when
  /// none is there now. `buffer` is where the socket may put it.
  virtual std::optional<Arrival> receive(transport::Color color,
                                         std::span<std::byte> buffer) = 0;

  /// Whether datagrams wait that descriptors() do not show.
  virtual bool has_backlog() const noexcept { return false; }

  /// When a datagram can be received that came already and is held until then;
  /// TimePoint::max(): none. The descriptors() do not show it.
  virtual TimePoint next_due() const noexcept { return TimePoint::max(); }

  /// Become readable when a datagram is there. Valid as long as the object.
  virtual std::span<const int> descriptors() const noexcept = 0;
};

}  // namespace acp::udp
