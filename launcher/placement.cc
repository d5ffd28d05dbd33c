// Reads the sources of hosts and places ranks. Called by make_plan. Starts no
// process and reaches no other host.
#include "launcher/placement.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "base/host_facts.h"
#include "base/log.h"
#include "launcher/allocation.h"
#include "launcher/read_file.h"
#include "launcher/this_host.h"

namespace acp::launcher {

namespace {

OrExit<std::vector<Node>> nodes_of_file(const std::string& name) {
  auto text = read_file("node file", name);
  if (auto* exit = std::get_if<EarlyExit>(&text)) return std::move(*exit);
  auto parsed = parse_nodefile(std::get<std::string>(text));
  if (const auto* wrong = std::get_if<NodefileError>(&parsed)) {
    return launcher_error(fmt::format("node file {}, line {}: {}", name,
                                      wrong->line, wrong->text));
  }
  return std::move(std::get<std::vector<Node>>(parsed));
}

/// The parser of node files reads each host, so the rules are the same.
OrExit<std::vector<Node>> nodes_of_option(const std::string& hosts) {
  std::vector<Node> nodes;
  for (std::size_t begin = 0; begin <= hosts.size();) {
    const std::size_t end = std::min(hosts.find(',', begin), hosts.size());
    auto parsed = parse_nodefile(hosts.substr(begin, end - begin));
    const auto* wrong = std::get_if<NodefileError>(&parsed);
    const auto* one = std::get_if<std::vector<Node>>(&parsed);
    if (wrong != nullptr) {
      return launcher_error(fmt::format("--host={}: {}", hosts, wrong->text));
    }
    if (one == nullptr || one->size() != 1) {
      return launcher_error(
          fmt::format("--host={}: must be host or host:N, separated "
                      "by commas",
                      hosts));
    }
    nodes.push_back(one->front());
    begin = end + 1;
  }
  return nodes;
}

/// Joins ranks of one host, whatever names it has in the list.
std::vector<HostRanks> group_by_host(std::span<const Node> nodes,
                                     std::span<const NodeShare> shares) {
  std::vector<HostRanks> hosts;
  std::map<std::string, std::size_t> known;  // By the name in the list.
  std::uint32_t rank = 0;
  for (const NodeShare& share : shares) {
    const std::string& name = nodes[share.node].host;
    auto found = known.find(name);
    if (found == known.end()) {
      const bool is_local = is_this_host(name);
      const auto local = std::ranges::find(hosts, true, &HostRanks::is_local);
      std::size_t index = hosts.size();
      if (is_local && local != hosts.end()) {
        index = static_cast<std::size_t>(local - hosts.begin());
      } else {
        hosts.push_back({static_cast<std::uint32_t>(index),
                         is_local ? host_name() : name,
                         is_local,
                         {}});
      }
      found = known.emplace(name, index).first;
    }
    hosts[found->second].ranks.append(rank, share.ranks);
    rank += share.ranks;
  }
  return hosts;
}

OrExit<std::vector<HostRanks>> place_by_file(Options& options) {
  const std::string& name = *options.nodefile;
  auto read = nodes_of_file(name);
  if (auto* exit = std::get_if<EarlyExit>(&read)) return std::move(*exit);
  const auto& nodes = std::get<std::vector<Node>>(read);
  const std::uint32_t capacity = capacity_of(nodes);
  if (capacity == 0) {
    return launcher_error(fmt::format("node file {} names no host", name));
  }
  if (options.procs == 0) options.procs = capacity;
  if (capacity < options.procs && !options.oversubscribe) {
    return launcher_error(fmt::format(
        "node file {} has room for {} ranks, -np asks for {}; add lines or "
        "give --oversubscribe",
        name, capacity, options.procs));
  }
  return group_by_host(nodes, fill_nodes(nodes, options.procs));
}

OrExit<std::vector<HostRanks>> place_by_option(Options& options) {
  auto read = nodes_of_option(options.hosts);
  if (auto* exit = std::get_if<EarlyExit>(&read)) return std::move(*exit);
  const auto& nodes = std::get<std::vector<Node>>(read);
  const bool has_counts = std::ranges::any_of(nodes, &Node::has_count);
  const std::uint32_t capacity = capacity_of(nodes);
  // "--host here" has always meant one rank, "-np 4 --host here" four.
  if (options.procs == 0) options.procs = capacity;
  if (has_counts) {
    if (capacity < options.procs && !options.oversubscribe) {
      return launcher_error(fmt::format(
          "--host={} has room for {} ranks, -np asks for {}; raise the counts "
          "or give --oversubscribe",
          options.hosts, capacity, options.procs));
    }
    return group_by_host(nodes, fill_nodes(nodes, options.procs));
  }
  return group_by_host(nodes, share_evenly(nodes.size(), options.procs));
}

OrExit<std::vector<HostRanks>> place_by_allocation(const Allocation& allocation,
                                                   Options& options) {
  const std::uint32_t capacity = capacity_of(allocation.nodes);
  if (options.procs == 0) options.procs = capacity;
  // An allocation counts tasks of the batch script, which may be one for each
  // host, or one for each core.
  return group_by_host(
      allocation.nodes,
      options.procs <= capacity
          ? fill_nodes(allocation.nodes, options.procs)
          : share_evenly(allocation.nodes.size(), options.procs));
}

bool has_several_hosts(const Allocation& allocation) {
  return std::ranges::any_of(allocation.nodes, [&](const Node& node) {
    return node.host != allocation.nodes.front().host;
  });
}

}  // namespace

std::vector<NodeShare> fill_nodes(std::span<const Node> nodes,
                                  std::uint32_t ranks) {
  std::vector<NodeShare> shares;
  std::size_t node = 0;
  while (ranks > 0) {
    const std::uint32_t taken = std::min(nodes[node].capacity, ranks);
    shares.push_back({node, taken});
    ranks -= taken;
    node = (node + 1) % nodes.size();
  }
  return shares;
}

/// Rank r is on node r * nodes / ranks, so node n begins with the first rank
/// that is not below n * ranks / nodes.
std::vector<NodeShare> share_evenly(std::size_t nodes, std::uint32_t ranks) {
  const auto begin_of = [&](std::size_t node) {
    return static_cast<std::uint32_t>((node * ranks + nodes - 1) / nodes);
  };
  std::vector<NodeShare> shares;
  for (std::size_t node = 0; node < nodes; ++node) {
    const std::uint32_t count = begin_of(node + 1) - begin_of(node);
    if (count > 0) shares.push_back({node, count});
  }
  return shares;
}

/// An allocation of one host changes nothing: without -np there is one rank.
OrExit<std::vector<HostRanks>> place_ranks(Options& options,
                                           const Settings::Lookup& lookup) {
  if (options.nodefile && !options.hosts.empty()) {
    return launcher_error(fmt::format(
        "--host={} and --acp-nodefile={} both name hosts: give one of them",
        options.hosts, *options.nodefile));
  }
  if (options.nodefile) return place_by_file(options);
  if (!options.hosts.empty()) return place_by_option(options);
  auto found = find_allocation(lookup);
  if (const auto* wrong = std::get_if<std::string>(&found)) {
    return launcher_error(*wrong + "; --host names the hosts instead");
  }
  const auto& allocation = std::get<std::optional<Allocation>>(found);
  if (allocation && has_several_hosts(*allocation)) {
    return place_by_allocation(*allocation, options);
  }
  options.procs = std::max<std::uint32_t>(options.procs, 1);
  const Node here{"localhost", options.procs, 0};
  return group_by_host({&here, 1}, fill_nodes({&here, 1}, options.procs));
}

}  // namespace acp::launcher
