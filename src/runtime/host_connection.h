// One connection between the leaders of two hosts (host_connections.h): its
// messages in both directions, which TCP may divide anywhere. Used by
// HostConnections, which has the lock, and watches the descriptor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "runtime/leader_message.h"

namespace acp::runtime {

/// Which leader has made the connection.
enum class ConnectionOrigin : std::uint8_t {
  kHere,   ///< This one: the other end is known.
  kThere,  ///< The other end: it is a stranger until it has sent the key.
};

/// Sends the greeting over a new connection. False, with errno. It fits the
/// empty send buffer, so one send takes it whole.
[[nodiscard]] bool send_greeting(int socket,
                                 const LeaderKey& key,
                                 std::uint32_t my_rank);

/// Move-only. No function waits.
class HostConnection {
 public:
  /// `socket` is connected and non-blocking.
  HostConnection(UniqueFd socket, ConnectionOrigin origin);

  int fd() const noexcept { return socket_.get(); }

  /// The leader at the other end, from its greeting.
  std::uint32_t rank() const noexcept { return rank_; }

  /// Numeric, of the other end; "": it was gone when this was made.
  const std::string& address() const noexcept { return address_; }

  bool is_known() const noexcept { return is_known_; }

  /// The other end has said goodbye: the end of the connection means nothing.
  bool is_leaving() const noexcept { return is_leaving_; }

  /// Sends a message. The part that the connection does not take leaves with
  /// flush().
  void send(const LeaderMessage& message);

  /// Sends the bytes that the connection has not taken yet. A connection that
  /// fails loses them, and read() sees the end.
  void flush();

  /// Reads all that has come, and adds the whole messages but the goodbye. A
  /// stranger becomes known by a greeting with this key. False: the connection
  /// is over, or the stranger has no key.
  [[nodiscard]] bool read(const LeaderKey& key,
                          std::vector<LeaderMessage>& messages);

  /// Sends the rest, and reads the bytes that have come, so that the goodbye
  /// arrives.
  /// This is destroyed after that.
  void finish();

 private:
  void discard();
  void take_messages(std::vector<LeaderMessage>& messages);

  UniqueFd socket_;
  std::uint32_t rank_ = 0;
  std::string address_;
  bool is_known_;            ///< It has sent the key.
  bool is_leaving_ = false;  ///< It has said goodbye.
  std::string received_;     ///< The start of a message.
  /// Bytes of messages, of which the connection has taken the first sent_.
  std::string outgoing_;
  std::size_t sent_ = 0;
};

}  // namespace acp::runtime
