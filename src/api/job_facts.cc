// Collects the facts of a running rank from the task. Called by acp_info --job
// only; changes nothing.
#include "api/job_facts.h"

#include <fmt/core.h>

#include "api/current_task.h"
#include "base/host_facts.h"
#include "settings/networks.h"

namespace acp::api {

namespace {

/// Why agents execute atomics where the job has devices, in brackets, or "". In
/// a job with two networks the setting is "agent" whatever the user has set.
std::string why_agents(const runtime::Task& mine) {
  const transport::Transport* net =
      mine.rdma() == nullptr ? mine.net() : mine.rdma();
  std::string why = net == nullptr ? std::string() : net->why_agents();
  if (mine.rdma() != nullptr &&
      mine.settings().text(SettingId::kVerbsAtomics) == "agent") {
    why = "the job has two networks";
  }
  return why.empty() ? why : fmt::format(" ({})", why);
}

/// The agent of a rank executes what peers send as messages.
std::string describe_atomics(const runtime::Task& mine) {
  const transport::Transport* net = mine.net();
  if (net != nullptr && net->capabilities().executes_atomics) {
    return "8 bytes by the devices, 4 bytes by the owner's agent";
  }
  if (is_network_everywhere(mine.settings())) {
    return "by the owner's agent" + why_agents(mine);
  }
  return net == nullptr
             ? "by CPUs"
             : "inside a host by CPUs, between hosts by the owner's agent" +
                   why_agents(mine);
}

/// This rank's end of a color in both networks, where the job has two.
std::string describe_color(const runtime::Task& mine, transport::Color color) {
  const std::string others = mine.net()->describe_color(color);
  return mine.rdma() == nullptr
             ? others
             : fmt::format("{} by {}, {} by {}",
                           mine.rdma()->describe_color(color),
                           mine.rdma()->name(), others, mine.net()->name());
}

}  // namespace

/// Without a network all ranks share memory, which has no address and needs no
/// protection.
JobFacts job_facts() {
  const runtime::Task& mine = *task();
  const transport::Transport* net = mine.net();
  JobFacts facts;
  facts.host = host_name();
  facts.leader = mine.host_leader();
  facts.atomics = describe_atomics(mine);
  if (net == nullptr) {
    facts.network = "none";
    facts.why = "all ranks share memory on one host";
    facts.colors.assign(mine.space().colors(), "shared memory");
    return facts;
  }
  facts.network =
      mine.rdma() == nullptr
          ? std::string(net->name())
          : fmt::format("{} and {}", mine.rdma()->name(), net->name());
  facts.why = mine.network_why();
  for (transport::Color i = 0; i < net->capabilities().colors; ++i) {
    facts.colors.push_back(describe_color(mine, i));
  }
  facts.protection = net->protection();
  return facts;
}

}  // namespace acp::api
