// Starts daemons, a limited number at a time, and routes messages to them.
// Called by acprun's job and by daemons, from their event loops. It waits for
// nothing but the resolver, for 2 s at most (machines.h).
#include "launcher/daemon_connections.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>

#include "launcher/machines.h"

namespace acp::launcher {

std::vector<std::vector<HostRanks>> divide_hosts(
    std::span<const HostRanks> hosts, std::uint32_t fan_out) {
  const std::size_t width = std::max<std::size_t>(fan_out, 1);
  const std::size_t count = hosts.size() <= 2 * width ? hosts.size() : width;
  std::vector<std::vector<HostRanks>> groups;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t begin = hosts.size() * i / count;
    const std::size_t end = hosts.size() * (i + 1) / count;
    groups.emplace_back(hosts.begin() + static_cast<std::ptrdiff_t>(begin),
                        hosts.begin() + static_cast<std::ptrdiff_t>(end));
  }
  return groups;
}

void DaemonConnections::open(HostOrders orders,
                             std::span<const HostRanks> hosts) {
  for (auto& group : divide_hosts(hosts, orders.shell.fan_out)) {
    orders.hosts = std::move(group);
    const std::size_t index = connections_.size();
    connections_.push_back(std::make_unique<DaemonConnection>(
        orders, loop_,
        [this, index](HostMessage message) {
          take(*connections_[index], std::move(message));
        },
        [this, index](const Reason& why) { lose(*connections_[index], why); },
        [this] { return pauses_.next(); }));
  }
}

/// Names of one machine get one number, that of the first of them.
void DaemonConnections::find_machines() {
  machine_of_connection_.resize(connections_.size());
  std::vector<std::string> names;
  for (const auto& connection : connections_)
    names.push_back(connection->hosts().front().name);
  const std::vector<std::string> machines = machines_of(names);
  std::unordered_map<std::string_view, std::size_t> first;
  for (std::size_t i = 0; i < machines.size(); ++i) {
    machine_of_connection_[i] = first.try_emplace(machines[i], i).first->second;
  }
}

void DaemonConnections::send(const HostMessage& message) {
  const auto bytes =
      std::make_shared<const std::string>(encode_host_message(message));
  for (const auto& connection : connections_) {
    if (message.host == kEveryHost || connection->has_host(message.host)) {
      connection->send(bytes);
    }
  }
}

void DaemonConnections::take(DaemonConnection& connection,
                             HostMessage message) {
  const bool is_end = message.type == HostMessageType::kDone ||
                      message.type == HostMessageType::kHostLost;
  if (is_end) {
    done_.insert(message.host);
    const bool are_all_done = std::ranges::all_of(
        connection.hosts(),
        [this](const HostRanks& one) { return done_.contains(one.number); });
    if (are_all_done) connection.note_done();
  }
  on_message_(std::move(message));
}

void DaemonConnections::lose(DaemonConnection& connection, const Reason& why) {
  for (const HostRanks& host : connection.hosts()) {
    if (!done_.insert(host.number).second) continue;
    on_message_(
        {HostMessageType::kHostLost, host.number, 0, 0, 0, encode_reason(why)});
  }
}

void DaemonConnections::check() {
  for (const auto& connection : connections_)
    connection->check();
  start_some(Clock::now());
}

/// Counts connections that start now: all, and the ones on the machine of this
/// connection. There are at most twice as many connections as --fan-out says.
DaemonConnections::Starting DaemonConnections::count_starting(
    std::size_t connection) const {
  Starting starting;
  for (std::size_t i = 0; i < connections_.size(); ++i) {
    if (!connections_[i]->is_starting()) continue;
    ++starting.in_all;
    if (!machine_of_connection_.empty() &&
        machine_of_connection_[i] == machine_of_connection_[connection]) {
      ++starting.on_machine;
    }
  }
  return starting;
}

/// A connection that finds no room waits for it: the start or the end of
/// another one makes room, and check() is called after it. The resolver is
/// asked for the first connection that would be one too many if all were of one
/// machine. So it holds up no connection before that.
void DaemonConnections::start_some(Clock::time_point now) {
  for (std::size_t i = 0; i < connections_.size(); ++i) {
    if (!connections_[i]->waits_to_start(now)) continue;
    Starting beside = count_starting(i);
    if (beside.in_all >= kStartsOfMachine && machine_of_connection_.empty()) {
      find_machines();
      beside = count_starting(i);
    }
    if (beside.in_all >= kStartsAtOnce ||
        beside.on_machine >= kStartsOfMachine) {
      connections_[i]->wait_for_room();
    } else {
      connections_[i]->start();
    }
  }
}

DaemonConnections::Clock::time_point DaemonConnections::next() const {
  auto next = Clock::time_point::max();
  for (const auto& connection : connections_)
    next = std::min(next, connection->next());
  return next;
}

bool DaemonConnections::are_over() const noexcept {
  return std::ranges::all_of(connections_, [](const auto& connection) {
    return connection->is_over();
  });
}

std::vector<pid_t> DaemonConnections::pids_and(
    std::vector<pid_t> others) const {
  for (const auto& connection : connections_) {
    if (connection->pid() > 0) others.push_back(connection->pid());
  }
  return others;
}

void DaemonConnections::kill() {
  for (const auto& connection : connections_)
    connection->kill();
}

}  // namespace acp::launcher
