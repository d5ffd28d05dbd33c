// Finds the hosts of a job that know no address of another host. Called by
// daemons, and by acprun before the ranks open their network. It asks no
// resolver and no other host: each host sends its answer.
#include "launcher/host_network.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>

#include "base/host_facts.h"
#include "base/printable.h"
#include "protocol/byte_codec.h"

namespace acp::launcher {

using protocol::ByteReader;
using protocol::ByteWriter;

std::string encode_host_network(const HostNetwork& network) {
  ByteWriter writer;
  writer.text(network.stack);
  writer.text(network.why_no_route);
  writer.text(network.name);
  return writer.take();
}

std::optional<HostNetwork> decode_host_network(std::string_view bytes) {
  ByteReader reader(bytes);
  HostNetwork network;
  network.stack = reader.text();
  network.why_no_route = printable(reader.text());
  network.name = printable(reader.text(), kPrintableName);
  if (!reader.is_at_end()) return std::nullopt;
  return network;
}

HostNetwork describe_network(const Route& route) {
  return {network_stack(), route.why_unknown, host_name()};
}

/// A namespace's number is unique for as long as its kernel runs.
std::string network_stack() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot;
  file >> boot;

  struct stat info {};

  const bool is_known = ::stat("/proc/self/ns/net", &info) == 0;
  return fmt::format("{} {}", boot, is_known ? info.st_ino : 0);
}

std::vector<HostNetworks::LostHost> HostNetworks::without_route() const {
  std::vector<LostHost> lost;
  for (const auto& [host, network] : networks_) {
    const bool has_neighbors =
        std::ranges::any_of(networks_, [&own = network.stack](const auto& one) {
          return one.second.stack != own;
        });
    if (has_neighbors && !network.why_no_route.empty()) {
      lost.push_back({host, network.why_no_route});
    }
  }
  return lost;
}

std::string HostNetworks::name_of(std::uint32_t host,
                                  const std::string& given) const {
  const bool is_address =
      given.find(':') != std::string::npos ||
      given.find_first_not_of("0123456789.") == std::string::npos;
  const auto found = networks_.find(host);
  return !is_address || found == networks_.end()
             ? given
             : fmt::format("{} at {}", found->second.name, given);
}

}  // namespace acp::launcher
