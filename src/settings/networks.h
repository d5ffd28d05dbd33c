// The networks that ACP_NET names, and where each of them is used.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "settings/settings.h"

namespace acp {

/// Between which ranks a network carries messages once ACP_NET names it.
enum class NetworkScope : std::uint8_t {
  kBetweenHosts,  ///< Ranks of one host still use shared memory.
  kEverywhere,    ///< Ranks of one host use the network, too.
};

/// The name by which the settings know a network. "verbs" and "infiniband" are
/// other names of "ib", and each name may be in upper case. A word that names
/// no network is returned unchanged.
std::string_view network_name(std::string_view word) noexcept;

/// Whether ACP_NET may be `name`. A network of a module counts, whether the
/// module is installed or not.
bool is_network_built_in(std::string_view name) noexcept;

/// The module that has the network, as load_module() names it; "" when libacp
/// has the network itself.
std::string_view module_of_network(std::string_view name) noexcept;

/// The values that ACP_NET may have, for messages:
/// "auto, shm, udp and ib".
std::string networks_built_in();

/// The values of ACP_NET that are networks of this build: neither "auto" nor
/// "shm".
std::vector<std::string_view> network_names();

/// ACP_NET names a network, which is then opened even when all ranks share a
/// host.
bool is_network_named(const Settings& settings);

/// The network that ACP_NET=auto prefers to udp.
inline constexpr std::string_view kRdmaNetwork = "ib";

/// ACP_NET=auto may take RDMA devices: no setting asks for udp's encryption or
/// interfaces.
bool may_choose_rdma(const Settings& settings);

/// How much room a process's address card needs with these settings.
enum class CardLength : std::uint8_t {
  kShort,  ///< A UDP address, or the address of an RDMA device.
  kPair,   ///< Both: ACP_NET=auto may use both networks in one job.
  kUsual,  ///< An address for each color.
  kLong    ///< UCX: the number of bytes depends on the host's devices.
};

CardLength card_length(const Settings& settings);

/// Ranks of one host reach each other by the network as well.
bool is_network_everywhere(const Settings& settings);

}  // namespace acp
