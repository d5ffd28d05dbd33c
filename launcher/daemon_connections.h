// All daemons that this process starts, as a tree: each daemon starts the
// daemons of the hosts below it. Messages find the connection that leads to
// their host.
#pragma once

#include <cstddef>
#include <memory>
#include <random>
#include <set>
#include <span>
#include <vector>

#include "launcher/daemon_connection.h"
#include "launcher/retry_pauses.h"

namespace acp::launcher {

/// Divides hosts among daemons. With at most 2 x fan_out hosts each has a
/// daemon that is started here. With more there are fan_out daemons, and each
/// has the rest of its group below it. Every group is in order. Pure.
std::vector<std::vector<HostRanks>> divide_hosts(
    std::span<const HostRanks> hosts, std::uint32_t fan_out);

/// Used by the thread of the event loop, which alone touches all fields.
class DaemonConnections {
 public:
  using Clock = DaemonConnection::Clock;

  /// Gets the messages of all hosts below, and kHostLost for each host whose
  /// connection ended before it said Done.
  /// `pauses` is for tests.
  DaemonConnections(EventLoop& loop,
                    DaemonConnection::OnMessage on_message,
                    RetryPauses pauses = RetryPauses(std::random_device{}()))
      : loop_(loop), on_message_(std::move(on_message)), pauses_(pauses) {}

  /// Remote shells that may be on their way at one time, in all and to one
  /// machine. Servers refuse connections when too many have not logged in yet:
  /// sshd does so from 10 on.
  static constexpr std::size_t kStartsAtOnce = 32;
  static constexpr std::size_t kStartsOfMachine = 8;

  /// Makes the connections to these hosts; check() starts some at a time. The
  /// orders' own list of hosts is not used.
  void open(HostOrders orders, std::span<const HostRanks> hosts);

  /// Sends a message to its host, or to every host.
  void send(const HostMessage& message);

  void check();
  Clock::time_point next() const;

  /// Whether every daemon has ended.
  bool are_over() const noexcept;

  /// Ends all daemons without waiting for them.
  void kill();

  /// Processes of the remote shells that run, behind `others`. Remote shells
  /// must outlive the ranks of this host, so end_descendants() spares them.
  std::vector<pid_t> pids_and(std::vector<pid_t> others) const;

 private:
  struct Starting {
    std::size_t in_all = 0;
    std::size_t on_machine = 0;
  };

  void find_machines();
  Starting count_starting(std::size_t connection) const;
  void start_some(Clock::time_point now);
  void take(DaemonConnection& connection, HostMessage message);
  void lose(DaemonConnection& connection, const Reason& why);

  EventLoop& loop_;
  DaemonConnection::OnMessage on_message_;
  RetryPauses pauses_;
  std::vector<std::unique_ptr<DaemonConnection>> connections_;
  /// By connection: the machine of its daemon. Connections with equal numbers
  /// share one. Empty until the resolver is asked.
  std::vector<std::size_t> machine_of_connection_;
  std::set<std::uint32_t> done_;  ///< Hosts that have said Done, or are lost.
};

}  // namespace acp::launcher
