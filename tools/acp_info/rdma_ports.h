// The ports of RDMA devices as the kernel lists them, and what each of them
// lacks for `ib`. Nothing is opened, so it works without the libraries.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "probes.h"

namespace acp::info {

/// A port, and why jobs can or cannot use it.
struct RdmaPort {
  std::string name;     ///< "mlx5_0 port 1".
  std::string state;    ///< "active", "down".
  std::string wire;     ///< "Ethernet, 100 Gb/sec (4X EDR)".
  std::string address;  ///< Of one of its network interfaces; may be empty.
  /// What it lacks, and what to do; empty when jobs can use it.
  std::string lack;
};

/// An IP address of a network interface with which connections can be made;
/// empty when it has none.
using AddressOf = std::function<std::string(const std::string& interface)>;

/// As the interfaces of this machine have them.
std::string address_of_interface(const std::string& interface);

/// By name. `sys` is where sysfs is mounted: /sys.
std::vector<RdmaPort> rdma_ports(const std::filesystem::path& sys,
                                 const AddressOf& address_of);

/// Works when one of them lacks nothing; says of each what it has and lacks.
Probe judge_ports(const std::vector<RdmaPort>& ports);

}  // namespace acp::info
