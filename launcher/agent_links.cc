// Starts agents, a limited number at a time, and routes messages to them.
// Called by acprun's job and by agents.
#include "launcher/agent_links.h"

#include <algorithm>

namespace acp::launcher {

namespace {

/// Remote shells that may be on their way at one time. Servers refuse
/// connections when too many have not logged in yet.
constexpr std::ptrdiff_t kStartsAtOnce = 32;

}  // namespace

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
        [this, index](const Reason& why) { lose(*links_[index], why); }));
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
  auto starting = std::ranges::count_if(
      links_, [](const auto& link) { return link->is_starting(); });
  for (const auto& link : links_) {
    if (starting >= kStartsAtOnce) break;
    if (link->is_new()) {
      link->start();
      ++starting;
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

std::vector<pid_t> AgentLinks::pids() const {
  std::vector<pid_t> pids;
  for (const auto& link : links_) {
    if (link->pid() > 0) pids.push_back(link->pid());
  }
  return pids;
}

void AgentLinks::kill() {
  for (const auto& link : links_)
    link->kill();
}

}  // namespace acp::launcher
