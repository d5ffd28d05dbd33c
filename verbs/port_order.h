// The order in which a rank takes the RDMA ports that the user does not name.
// Ports near its cores come first. Optionally, each rank of a host has another
// first port. Called by find_ports.
//
// The order of the ports is the order of the colors, and a color connects two
// ranks by the port that each has there. A host does not see the ports of other
// hosts, so the order may only exchange ports that reach each other.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/host_facts.h"

namespace acp::verbs {

/// A value of ACP_VERBS_RAILS.
enum class PortOrder : std::uint8_t {
  kNear,   ///< Ports near the cores of this rank first, then by name.
  kLocal,  ///< Also, ranks of one host begin at different near ports.
  kName,   ///< By name: equal for all ranks of a host.
};

/// The value of ACP_VERBS_RAILS with this text, one of its choices.
PortOrder port_order_named(std::string_view text) noexcept;

/// The properties of a port that decide its order.
struct PortKey {
  std::string device;  ///< "mlx5_0".
  /// Ports with equal texts reach each other: fabric and IP subnet.
  std::string group;
};

/// The rank for which ports are ordered.
struct PortChooser {
  PortOrder order = PortOrder::kNear;
  CpuMask cpus{};                ///< The cores on which the rank may run.
  std::uint32_t local_rank = 0;  ///< Number among the ranks of its host.
  std::string sys = "/sys";      ///< Where sysfs is mounted.
};

/// Returns the indices of `ports` in the order of the colors. `ports` is sorted
/// by name. Position i has the group of port i, so all ranks have equal
/// sequences of groups whatever their cores are. A device of unknown NUMA node
/// is near to all cores.
std::vector<std::size_t> order_ports(std::span<const PortKey> ports,
                                     const PortChooser& chooser);

/// Text such as "node 1, near" for the log. "node unknown, near" without NUMA.
std::string describe_distance(const std::string& device,
                              const PortChooser& chooser);

}  // namespace acp::verbs
