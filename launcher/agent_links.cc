// Starts agents, a limited number at a time, and routes messages to them.
// Called by acprun's job and by agents, from their event loops. It waits for
// nothing but the resolver, for 2 s at most (machines.h).
#include "launcher/agent_links.h"

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

void AgentLinks::open(HostOrders orders, std::span<const HostRanks> hosts) {
  for (auto& group : divide_hosts(hosts, orders.shell.fan_out)) {
    orders.hosts = std::move(group);
    const std::size_t index = links_.size();
    links_.push_back(std::make_unique<AgentLink>(
        orders, loop_,
        [this, index](HostMessage message) {
          take(*links_[index], std::move(message));
        },
        [this, index](const Reason& why) { lose(*links_[index], why); },
        [this] { return pauses_.next(); }));
  }
}

/// Names of one machine get one number, that of the first of them.
void AgentLinks::find_machines() {
  machine_of_link_.resize(links_.size());
  std::vector<std::string> names;
  for (const auto& link : links_)
    names.push_back(link->hosts().front().name);
  const std::vector<std::string> machines = machines_of(names);
  std::unordered_map<std::string_view, std::size_t> first;
  for (std::size_t i = 0; i < machines.size(); ++i) {
    machine_of_link_[i] = first.try_emplace(machines[i], i).first->second;
  }
}

void AgentLinks::send(const HostMessage& message) {
  const auto bytes =
      std::make_shared<const std::string>(encode_host_message(message));
  for (const auto& link : links_) {
    if (message.host == kEveryHost || link->has_host(message.host)) {
      link->send(bytes);
    }
  }
}

void AgentLinks::take(AgentLink& link, HostMessage message) {
  const bool is_end = message.type == HostMessageType::kDone ||
                      message.type == HostMessageType::kHostLost;
  if (is_end) {
    done_.insert(message.host);
    const bool are_all_done = std::ranges::all_of(
        link.hosts(),
        [this](const HostRanks& one) { return done_.contains(one.number); });
    if (are_all_done) link.note_done();
  }
  on_message_(std::move(message));
}

void AgentLinks::lose(AgentLink& link, const Reason& why) {
  for (const HostRanks& host : link.hosts()) {
    if (!done_.insert(host.number).second) continue;
    on_message_(
        {HostMessageType::kHostLost, host.number, 0, 0, 0, encode_reason(why)});
  }
}

void AgentLinks::check() {
  for (const auto& link : links_)
    link->check();
  start_some(Clock::now());
}

/// Counts links that start now: all, and the ones on the machine of this link.
/// There are at most twice as many links as --fan-out says.
AgentLinks::Starting AgentLinks::count_starting(std::size_t link) const {
  Starting starting;
  for (std::size_t i = 0; i < links_.size(); ++i) {
    if (!links_[i]->is_starting()) continue;
    ++starting.in_all;
    if (!machine_of_link_.empty() &&
        machine_of_link_[i] == machine_of_link_[link]) {
      ++starting.on_machine;
    }
  }
  return starting;
}

/// A link that finds no room waits for it: the start or the end of another one
/// makes room, and check() is called after it. The resolver is asked for the
/// first link that would be one too many if all were of one machine. So it
/// holds up no link before that.
void AgentLinks::start_some(Clock::time_point now) {
  for (std::size_t i = 0; i < links_.size(); ++i) {
    if (!links_[i]->waits_to_start(now)) continue;
    Starting beside = count_starting(i);
    if (beside.in_all >= kStartsOfMachine && machine_of_link_.empty()) {
      find_machines();
      beside = count_starting(i);
    }
    if (beside.in_all >= kStartsAtOnce ||
        beside.on_machine >= kStartsOfMachine) {
      links_[i]->wait_for_room();
    } else {
      links_[i]->start();
    }
  }
}

AgentLinks::Clock::time_point AgentLinks::next() const {
  auto next = Clock::time_point::max();
  for (const auto& link : links_)
    next = std::min(next, link->next());
  return next;
}

bool AgentLinks::are_over() const noexcept {
  return std::ranges::all_of(links_,
                             [](const auto& link) { return link->is_over(); });
}

std::vector<pid_t> AgentLinks::pids_and(std::vector<pid_t> others) const {
  for (const auto& link : links_) {
    if (link->pid() > 0) others.push_back(link->pid());
  }
  return others;
}

void AgentLinks::kill() {
  for (const auto& link : links_)
    link->kill();
}

}  // namespace acp::launcher
