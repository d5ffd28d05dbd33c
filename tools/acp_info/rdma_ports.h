// Lists the ports of RDMA devices from sysfs, with the reason why
// the network `ib` cannot use a port. It opens no device, so it works without
// the libraries.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "probes.h"

namespace acp::info {

/// An entry of a port's table of GIDs.
struct PortGid {
  int index = 0;
  std::string gid;        ///< "fe80:0000:...:0001", as sysfs has it.
  std::string type;       ///< "IB", "RoCE v1", "RoCE v2".
  std::string interface;  ///< "eth0"; empty for InfiniBand.
};

/// A port, with the reason why jobs cannot use it.
struct RdmaPort {
  std::string name;        ///< "mlx5_0 port 1".
  std::string state;       ///< "active", "down".
  std::string link_layer;  ///< "Ethernet, 100 Gb/sec (4X EDR)".
  std::string address;     ///< An IP address of the port; may be empty.
  /// The lack, and the remedy; "" when jobs can use the port.
  std::string lack;
  std::vector<PortGid> gids{};  ///< The entries in use, by index.
};

/// Returns an IP address of a network interface with which connections can be
/// made; "" when it has none.
using AddressOf = std::function<std::string(const std::string& interface)>;

/// Looks at the interfaces of this machine.
std::string address_of_interface(const std::string& interface);

/// Lists the ports by name. `sys` is where sysfs is mounted: /sys.
std::vector<RdmaPort> rdma_ports(const std::string& sys,
                                 const AddressOf& address_of);

/// The probe works when one port lacks nothing. The detail lists each port with
/// the reason why jobs leave it out.
Probe judge_ports(const std::vector<RdmaPort>& ports);

}  // namespace acp::info
