// Reads the RDMA devices and their ports from sysfs, and judges each. Called by
// probe_ib and facts.cc; a test gives it a sysfs of its own. It opens no
// device.
#include "rdma_ports.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>

namespace acp::info {

namespace {

namespace fs = std::filesystem;

/// Entries of a port's table of GIDs that are read. Entries of IP addresses
/// come first, and the tables of some devices have thousands.
constexpr int kGids = 64;

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::vector<fs::path> sorted_entries(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    entries.push_back(entry.path());
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

/// "4: ACTIVE" -> "active".
std::string state_word(const std::string& line) {
  std::string word = line.substr(std::min(line.size(), line.find(' ') + 1));
  std::transform(word.begin(), word.end(), word.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return word;
}

/// Lists the network interfaces of a port. Interfaces of RoCE stand in the
/// port's table of GIDs. Interfaces of IPoIB name their device and count its
/// ports from 0.
std::vector<std::string> interfaces_of(const fs::path& sys,
                                       const std::string& device,
                                       const fs::path& port) {
  std::vector<std::string> names;
  names.reserve(kGids);
  for (int i = 0; i < kGids; ++i) {
    names.push_back(first_line(port / "gid_attrs/ndevs" / std::to_string(i)));
  }
  for (const fs::path& interface : sorted_entries(sys / "class/net")) {
    std::error_code error;
    // An interface without this number belongs to the first port.
    const std::int64_t number =
        1 + std::max(std::int64_t{0},
                     number_in_file((interface / "dev_port").c_str()));
    if (fs::exists(interface / "device/infiniband" / device, error) &&
        std::to_string(number) == port.filename()) {
      names.push_back(interface.filename());
    }
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::erase(names, "");
  return names;
}

/// Lists the GIDs that are in use. sysfs calls the type of InfiniBand and that
/// of RoCE v1 by one name, so the link layer tells them apart.
std::vector<PortGid> gids_of(const fs::path& port,
                             const std::string& link_layer) {
  constexpr const char* kUnused = "0000:0000:0000:0000:0000:0000:0000:0000";
  std::vector<PortGid> gids;
  for (int i = 0; i < kGids; ++i) {
    const std::string index = std::to_string(i);
    const std::string gid = first_line(port / "gids" / index);
    if (gid.empty() || gid == kUnused) {
      continue;
    }
    std::string type = first_line(port / "gid_attrs/types" / index);
    if (type == "IB/RoCE v1") {
      type = link_layer == "Ethernet" ? "RoCE v1" : "IB";
    }
    gids.push_back(
        {i, gid, type, first_line(port / "gid_attrs/ndevs" / index)});
  }
  return gids;
}

/// "1: CA" is a channel adapter, with InfiniBand's operations; so is RoCE.
std::string lack_of_device(const std::string& node_type) {
  if (node_type.empty() || node_type.starts_with("1:")) {
    return "";
  }
  if (node_type.starts_with("4:")) {
    return "iWARP has no sends with immediate data: ACP_NET=udp goes by it";
  }
  return fmt::format("a device of type {} has no reliable connections",
                     state_word(node_type));
}

std::string lack_of_port(const RdmaPort& port,
                         const std::vector<std::string>& interfaces) {
  if (port.state != "active") {
    return "connect the cable, ip link set ... up; InfiniBand needs a subnet "
           "manager";
  }
  if (!port.address.empty()) {
    return "";
  }
  return interfaces.empty()
             ? "no network interface: InfiniBand needs IPoIB (modprobe "
               "ib_ipoib), and an address on it"
             : fmt::format(
                   "no IP address: sudo ip addr add ADDRESS/BITS dev {0}, sudo "
                   "ip link set {0} up",
                   interfaces.front());
}

/// Collects the facts of the port, and then the reason why jobs leave it out.
RdmaPort read_port(const fs::path& sys,
                   const fs::path& device,
                   const fs::path& port,
                   const AddressOf& address_of) {
  const std::string name = device.filename();
  RdmaPort found;
  found.name = fmt::format("{} port {}", name, port.filename().string());
  found.state = state_word(first_line(port / "state"));
  const std::string link_layer = first_line(port / "link_layer");
  found.link_layer =
      fmt::format("{}, {}", link_layer, first_line(port / "rate"));
  found.gids = gids_of(port, link_layer);
  const auto interfaces = interfaces_of(sys, name, port);
  for (const std::string& each : interfaces) {
    found.address = found.address.empty() ? address_of(each) : found.address;
  }
  found.lack = lack_of_device(first_line(device / "node_type"));
  if (found.lack.empty()) {
    found.lack = lack_of_port(found, interfaces);
  }
  return found;
}

/// Returns the address as text; "" for an IPv6 link-local address, and for
/// other families.
std::string text_of(const sockaddr& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.sa_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    ::inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size());
  } else if (address.sa_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
    if (!IN6_IS_ADDR_LINKLOCAL(&v6.sin6_addr)) {
      ::inet_ntop(AF_INET6, &v6.sin6_addr, text.data(), text.size());
    }
  }
  return text.data();
}

}  // namespace

std::string address_of_interface(const std::string& interface) {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) {
    return "";
  }
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(
      list, &::freeifaddrs);
  std::string found;
  for (const ifaddrs* at = list; at != nullptr && found.empty();
       at = at->ifa_next) {
    if (interface == at->ifa_name && at->ifa_addr != nullptr &&
        (at->ifa_flags & IFF_UP) != 0) {
      found = text_of(*at->ifa_addr);
    }
  }
  return found;
}

std::vector<RdmaPort> rdma_ports(const std::string& sys,
                                 const AddressOf& address_of) {
  const fs::path root = sys;
  std::vector<RdmaPort> ports;
  for (const fs::path& device : sorted_entries(root / "class/infiniband")) {
    for (const fs::path& port : sorted_entries(device / "ports")) {
      ports.push_back(read_port(root, device, port, address_of));
    }
  }
  return ports;
}

}  // namespace acp::info
