// Connections between the hosts of a job under other launchers than acprun: a
// TCP connection from the leader of each host to rank 0. A connection is a
// lifeline: its end tells that a host is gone. Before that, absences travel
// over it (docs/launcher.md, "Absences under other launchers").
//
//   leader of host 1 ──┐
//   leader of host 2 ──┼── rank 0
//   leader of host 3 ──┘
//
// Some launchers do not end the ranks of other hosts when a rank has died. A
// leader's own death follows the death of any rank of its host within seconds
// (HostWatch). So the death of any rank reaches all hosts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/unique_fd.h"
#include "runtime/host_connection.h"
#include "runtime/kept_messages.h"
#include "runtime/leader_listener.h"
#include "runtime/leader_message.h"
#include "runtime/wait_limit.h"
#include "status/result.h"

namespace acp::runtime {

/// A host that is gone, or has lost a rank.
struct LostHost {
  std::uint32_t leader = 0;
  std::string address;  ///< Numeric, of the connection to its leader.
};

/// The result of HostConnections::look().
struct ConnectionReport {
  std::optional<LostHost> lost;         ///< The first one.
  std::vector<LeaderMessage> messages;  ///< kAbsent, kStuck and kWritten.
};

/// Thread-safe after open() or connect().
class HostConnections {
 public:
  HostConnections() = default;
  HostConnections(const HostConnections&) = delete;
  HostConnections& operator=(const HostConnections&) = delete;
  /// After say_goodbye() it closes the connections so that the goodbye arrives.
  /// Does not block.
  ~HostConnections();

  /// Rank 0: listens on a port of the system's choice, until `leaders` leaders
  /// have connected. kSystem, logged.
  [[nodiscard]] Status open(const LeaderKey& key, std::size_t leaders);

  /// The port that rank 0 listens on, after open().
  std::uint16_t port() const noexcept { return listener_.port(); }

  /// Other leaders: connects to rank 0 at a numeric address. False, logged as a
  /// warning: a firewall is between the hosts, for example. Then only the
  /// launcher and the transports notice the death of a host.
  bool connect(const std::string& address,
               std::uint16_t port,
               const LeaderKey& key,
               std::uint32_t my_rank,
               const WaitLimit& limit);

  /// A descriptor that is readable when look() has something to do. -1: there
  /// is no connection, or they mean nothing any more.
  int ready_fd() const;

  /// When look() has something to do although that descriptor is not readable.
  TimePoint look_due() const;

  /// Takes what has come in, and sends what has been left to send. Called by
  /// one thread.
  ConnectionReport look();

  /// The number of connections.
  std::size_t size() const;

  /// Sends an absence: rank 0 to all other leaders, also to those whose
  /// connection it has not taken yet, and another leader to rank 0. A leader
  /// that has said goodbye gets none. Does not block. What a full connection
  /// does not take leaves with look().
  void send_absence(const LeaderMessage& message);

  /// Another leader: tells rank 0 that ranks wait in vain. False: there is no
  /// connection to rank 0.
  bool send_stuck(const LeaderMessage& message);

  /// Rank 0: tells all other leaders, also those whose connection it has not
  /// taken yet, that it has written the line of the verdict. Does not block.
  void send_written();

  /// Another leader: whether it holds a connection to rank 0, and rank 0 has
  /// not said goodbye.
  bool reaches_rank_0() const;

  /// From here on the end of a connection means nothing, on both sides. Rank 0
  /// first takes the connections that wait, and sends them the absences that
  /// they have not got.
  void say_goodbye();

 private:
  bool watch(int fd);
  bool add(UniqueFd socket, ConnectionOrigin origin);
  void remove(int fd);
  void send_to_known(const LeaderMessage& message);
  bool has_connection_to_rank_0() const;
  void accept_all(ConnectionReport& report);
  void drop_late_strangers();
  void take_events(ConnectionReport& report);
  void take_from(int fd, ConnectionReport& report);
  bool read_from(HostConnection& connection,
                 std::vector<LeaderMessage>& messages);
  void send_kept(HostConnection& connection) const;

  mutable std::mutex mutex_;  ///< Guards all fields.
  /// The epoll of listener_ and connections_, edge-triggered.
  UniqueFd ready_;
  LeaderListener listener_;  ///< Rank 0: open until all leaders are there.
  bool accepts_ = false;     ///< Rank 0: listener_ was readable in this look().
  LeaderKey key_{};
  /// By the descriptor of the socket.
  std::unordered_map<int, HostConnection> connections_;
  KeptMessages kept_;  ///< Rank 0: for leaders whose connection is taken later.
  bool has_left_ = false;  ///< say_goodbye() was called.
};

}  // namespace acp::runtime
