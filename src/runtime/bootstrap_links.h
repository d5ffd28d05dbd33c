// Links between the hosts of a job under other launchers than acprun: a TCP
// connection from the leader of each host to rank 0. A link is a lifeline: its
// end tells that a host is gone. Before that, absences travel over it
// (docs/launcher.md, "Absences under other launchers").
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
#include "runtime/bootstrap_link.h"
#include "runtime/kept_messages.h"
#include "runtime/link_message.h"
#include "runtime/wait_limit.h"
#include "status/result.h"

namespace acp::runtime {

/// A host that is gone, or has lost a rank.
struct LostHost {
  std::uint32_t leader = 0;
  std::string address;  ///< Numeric, of the connection to its leader.
};

/// The result of HostLinks::look().
struct LinkReport {
  std::optional<LostHost> lost;       ///< The first one.
  std::vector<LinkMessage> messages;  ///< kAbsent, kStuck and kWritten.
};

/// Thread-safe after open() or connect().
class HostLinks {
 public:
  HostLinks() = default;
  HostLinks(const HostLinks&) = delete;
  HostLinks& operator=(const HostLinks&) = delete;
  /// After say_goodbye() it closes the connections so that the goodbye arrives.
  /// Does not block.
  ~HostLinks();

  /// Rank 0: listens on a port of the system's choice, for at most `leaders`
  /// connections. kSystem, logged.
  [[nodiscard]] Status open(const LinkKey& key, std::size_t leaders);

  /// The port that rank 0 listens on, after open().
  std::uint16_t port() const noexcept { return port_; }

  /// Other leaders: connects to rank 0 at a numeric address. False, logged as a
  /// warning: a firewall is between the hosts, for example. Then only the
  /// launcher and the transports notice the death of a host.
  bool connect(const std::string& address,
               std::uint16_t port,
               const LinkKey& key,
               std::uint32_t my_rank,
               const WaitLimit& limit);

  /// A descriptor that is readable when look() has something to do. -1: there
  /// is no connection, or they mean nothing any more.
  int ready_fd() const;

  /// When look() has something to do although that descriptor is not readable.
  TimePoint look_due() const;

  /// Takes what has come in, and sends what has been left to send. Called by
  /// one thread.
  LinkReport look();

  /// The number of connections.
  std::size_t size() const;

  /// Sends an absence: rank 0 to all other leaders, also to those whose
  /// connection it has not taken yet, and another leader to rank 0. A leader
  /// that has said goodbye gets none. Does not block. What a full connection
  /// does not take leaves with look().
  void send_absence(const LinkMessage& message);

  /// Another leader: tells rank 0 that ranks wait in vain. False: there is no
  /// connection to rank 0.
  bool send_stuck(const LinkMessage& message);

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
  bool add(UniqueFd socket, LinkOrigin origin);
  void send_to_known(const LinkMessage& message);
  bool has_link_to_rank_0() const;
  void accept_all();
  bool read_from(HostLink& link, std::vector<LinkMessage>& messages);
  void send_kept(HostLink& link) const;

  mutable std::mutex mutex_;  ///< Guards all fields.
  UniqueFd ready_;  ///< The epoll of listener_ and links_, edge-triggered.
  UniqueFd listener_;
  /// Rank 0: when it tries again to take connections for which it had no
  /// descriptor.
  TimePoint accept_due_ = TimePoint::max();
  int lowest_fd_ = 0;  ///< Connections get no descriptor below it.
  std::uint16_t port_ = 0;
  LinkKey key_{};
  std::unordered_map<int, HostLink>
      links_;              ///< By the descriptor of the socket.
  KeptMessages kept_;      ///< Rank 0: for leaders whose link is taken later.
  bool has_left_ = false;  ///< say_goodbye() was called.
};

}  // namespace acp::runtime
