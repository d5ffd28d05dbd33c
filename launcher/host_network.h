// The networks of a job's hosts: whether each host has found an address of
// another host. acprun needs them before the ranks open sockets.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/route.h"

namespace acp::launcher {

/// One host, as it reports itself before its ranks start. Plain value.
struct HostNetwork {
  /// Names the kernel and the network namespace. Hosts with equal names reach
  /// each other over loopback.
  std::string stack;
  std::string why_no_route;  ///< Route::why_unknown; "": an address is known.
  std::string name;          ///< By which the host's ranks name it in messages.
};

std::string encode_host_network(const HostNetwork& network);

/// nullopt: bytes that no acprun of this version would send.
std::optional<HostNetwork> decode_host_network(std::string_view bytes);

/// The network of this host, whose route has been looked for.
HostNetwork describe_network(const Route& route);

/// HostNetwork::stack of this process.
std::string network_stack();

/// The networks of all hosts of a job. Used by the thread of the event loop.
class HostNetworks {
 public:
  void note(std::uint32_t host, HostNetwork network) {
    networks_[host] = std::move(network);
  }

  /// A host that knows no address of the others, and why. Plain value.
  struct LostHost {
    std::uint32_t host = 0;
    std::string why;
  };

  /// Returns the hosts that know no address of another host, although the hosts
  /// of the job have more than one stack.
  std::vector<LostHost> without_route() const;

  /// Returns "h2 at 10.0.0.2" for a host that the user gave by address, or the
  /// name that was given. Then the reader recognizes the host in the messages
  /// of its ranks.
  std::string name_of(std::uint32_t host, const std::string& given) const;

 private:
  std::map<std::uint32_t, HostNetwork> networks_;  ///< By number of the host.
};

}  // namespace acp::launcher
