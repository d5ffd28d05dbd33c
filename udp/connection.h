// A connected socket for a peer to which many fragments go. The kernel looks up
// a route for each datagram that an unconnected socket sends; a connected
// socket keeps the route. Owned by an Endpoint. docs/udp.md, "Connected
// sockets".
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "transport/transport.h"
#include "udp/datagram_socket.h"

namespace acp::udp {

/// Carries the first transmission of an endpoint's fragments:
///
///   none --(many fragments sent)--> tried --(one acknowledged)--> proven
///    ^                              |   ^                            |
///    +------(a fragment lost)-------+   +------(a fragment lost)-----+
///
/// A first transmission that bypasses a tried connection ends it like a loss.
///
/// A firewall may pass only datagrams between the listening ports. Therefore
/// retransmissions and pure acks never use the connected socket.
///
/// Guarded by the engine's mutex. Invariants:
/// 1. index_ has a value exactly while socket_ has that connection open, and
///    then table_.owners[*index_] == this.
/// 2. first_txno_ != 0 only while index_ has a value.
/// 3. While tried and not proven, no fragment has been sent any other way.
class Connection {
 public:
  /// The connections of the datagram socket.
  struct Table {
    /// Null: free. Written by open() and close() of the connections.
    std::array<Connection*, kConnections> owners{};
    /// Fragments given to all connections; a train counts as one. Counted by
    /// send().
    std::uint64_t sent = 0;
  };

  Connection(DatagramSocket& socket, Table& table)
      : socket_(socket), table_(table) {}

  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  ~Connection() { close(); }

  /// Sends the first transmission of a fragment, numbered `txno`. Nothing:
  /// there is no connection, and the caller sends by the unconnected socket.
  std::optional<Status> send(transport::Color color,
                             const Address& to,
                             const Datagram& datagram,
                             std::uint64_t txno);

  /// The peer has received transmission `txno`; 0: none yet.
  void on_echo(std::uint64_t txno) noexcept;

  /// A fragment is about to be retransmitted by the unconnected socket.
  void on_loss();

  /// A fragment is about to leave for the first time by the unconnected socket,
  /// because it is larger than its path. Keeps invariant 3.
  void on_bypass();

  /// An earlier on_loss() was about a fragment that had arrived after all.
  void on_needless_loss() noexcept;

  void close();

 private:
  void open(transport::Color color, const Address& to);
  std::optional<std::uint8_t> find_index() const noexcept;
  void give_up();

  static constexpr std::uint32_t kFirstThreshold = 64;

  DatagramSocket& socket_;
  Table& table_;
  /// Set by open(), and reset by close(). Another connection that needs this
  /// index calls close(), too.
  std::optional<std::uint8_t> index_;
  /// Set by on_echo(), and reset by on_loss() and close().
  bool is_proven_ = false;
  /// Fragments until it is opened. give_up() raises it. on_echo() and
  /// on_needless_loss() lower it.
  std::uint32_t threshold_ = kFirstThreshold;
  /// Fragments sent without it. send() counts, and open() begins anew.
  std::uint32_t unconnected_ = 0;
  /// First transmission by it. Set by send(), and reset by on_loss() and
  /// close().
  std::uint64_t first_txno_ = 0;
  /// Table::sent when it was last used. Written by send().
  std::uint64_t last_sent_ = 0;
};

}  // namespace acp::udp
