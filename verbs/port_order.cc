// Orders ports by the NUMA node of their device, which sysfs tells. Called once
// per process, in acp_init; opens no device.
#include "verbs/port_order.h"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace acp::verbs {

namespace {

constexpr int kUnknownNode = -1;

/// The kernel says -1 where a machine has one node, or where a device has none.
int node_of(const std::string& sys, const std::string& device) {
  std::ifstream file(
      fmt::format("{}/class/infiniband/{}/device/numa_node", sys, device));
  int node = kUnknownNode;
  return file >> node ? std::max(node, kUnknownNode) : kUnknownNode;
}

/// Whether the list of a node, such as "0-3,8,10-11", has one of the cores.
bool has_core_of(const std::string& list, const CpuMask& cpus) {
  std::istringstream words(list);
  for (std::string word; std::getline(words, word, ',');) {
    std::istringstream range(word);
    unsigned first = 0;
    char dash = 0;
    if (!(range >> first)) {
      continue;
    }
    unsigned last = first;
    range >> dash >> last;
    for (unsigned cpu = first; cpu <= last && cpu < CpuMask::kMaxCpus; ++cpu) {
      if (cpus.has(cpu)) {
        return true;
      }
    }
  }
  return false;
}

bool is_near(const std::string& device, const PortChooser& chooser) {
  const int node = node_of(chooser.sys, device);
  if (node == kUnknownNode || chooser.cpus.is_empty()) {
    return true;
  }
  std::ifstream file(
      fmt::format("{}/devices/system/node/node{}/cpulist", chooser.sys, node));
  std::string list;
  std::getline(file, list);
  return has_core_of(list, chooser.cpus);
}

/// Near ports first, both kinds by name. With kLocal, the near ones begin at
/// the port of the local rank.
void order_group(std::vector<std::size_t>& group,
                 std::span<const PortKey> ports,
                 const PortChooser& chooser) {
  const auto far = std::stable_partition(
      group.begin(), group.end(),
      [&](std::size_t i) { return is_near(ports[i].device, chooser); });
  // Without a near port, the far ones are equally far.
  const auto end = far == group.begin() ? group.end() : far;
  if (chooser.order == PortOrder::kLocal && end != group.begin()) {
    const auto count = static_cast<std::uint32_t>(end - group.begin());
    std::rotate(group.begin(), group.begin() + chooser.local_rank % count, end);
  }
}

}  // namespace

PortOrder port_order_named(std::string_view text) noexcept {
  return text == "local"  ? PortOrder::kLocal
         : text == "name" ? PortOrder::kName
                          : PortOrder::kNear;
}

/// Each group keeps the positions that it has by name.
std::vector<std::size_t> order_ports(std::span<const PortKey> ports,
                                     const PortChooser& chooser) {
  std::vector<std::size_t> order(ports.size());
  for (std::size_t first = 0; first < ports.size(); ++first) {
    std::vector<std::size_t> positions;
    for (std::size_t i = 0; i < ports.size(); ++i) {
      if (ports[i].group == ports[first].group) {
        positions.push_back(i);
      }
    }
    if (positions.front() != first) {
      continue;  // This group is ordered already.
    }
    std::vector<std::size_t> group = positions;
    if (chooser.order != PortOrder::kName) {
      order_group(group, ports, chooser);
    }
    for (std::size_t i = 0; i < positions.size(); ++i) {
      order[positions[i]] = group[i];
    }
  }
  return order;
}

std::string describe_distance(const std::string& device,
                              const PortChooser& chooser) {
  const int node = node_of(chooser.sys, device);
  return fmt::format("node {}, {}",
                     node == kUnknownNode ? "unknown" : std::to_string(node),
                     is_near(device, chooser) ? "near" : "far");
}

}  // namespace acp::verbs
