// A connected socket for a peer that much is sent to. The kernel looks up the
// route of each datagram that an unconnected socket sends; a connected one
// keeps it. docs/udp.md, "Connected sockets".
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "transport/transport.h"
#include "udp/datagram_socket.h"

namespace acp::udp {

/// What a endpoint sends fragments through when they go for the first time:
///
///   none --(much was sent)--> tried --(one has arrived)--> proven
///    ^                        |    ^                          |
///    +---(one was lost)-------+    +------(one was lost)------+
///
/// Something between the processes may let only the ports pass that they
/// listen at; so whatever is sent again, and every ack of its own, goes from
/// there. One thread at a time.
class Connection {
 public:
  /// Whose each of the wire's connections is.
  using Table = std::array<Connection*, kConnections>;

  Connection(DatagramSocket& socket, Table& table)
      : socket_(socket), table_(table) {}

  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  ~Connection() { close(); }

  /// Sends a fragment's first transmission, which is `txno` of the transport.
  /// Nothing when it has to go another way.
  std::optional<Status> send(transport::Color color,
                             const Address& to,
                             const Datagram& datagram,
                             std::uint64_t txno);

  /// The peer has got transmission `txno`, or 0 for none yet.
  void on_echo(std::uint64_t txno) noexcept;

  /// A fragment is about to be sent again, another way.
  void on_loss();

  /// What on_loss() was told was no loss.
  void on_spurious_loss() noexcept;

  void close();

 private:
  void open(transport::Color color, const Address& to, std::uint64_t txno);
  std::optional<std::size_t> find_index(std::uint64_t txno) const noexcept;
  void give_up();

  static constexpr std::uint32_t kFirstThreshold = 64;

  DatagramSocket& socket_;
  Table& table_;
  std::optional<std::size_t> index_;
  bool is_proven_ = false;
  std::uint32_t threshold_ =
      kFirstThreshold;             ///< Fragments before it is opened.
  std::uint32_t unconnected_ = 0;  ///< Of these.
  std::uint64_t first_txno_ = 0;   ///< First transmission to prove it.
  std::uint64_t last_txno_ = 0;    ///< A transmission.
};

}  // namespace acp::udp
