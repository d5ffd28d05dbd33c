// The facts that acp_info tells, as plain values. text.cc and json.cc print
// them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rdma_limits.h"
#include "rdma_ports.h"
#include "settings/settings.h"

namespace acp::info {

/// One transport: whether it is there, and whether it works here.
struct TransportFact {
  std::string name;
  bool is_built = false;  ///< In libacp, or in a module that is installed.
  bool is_usable = false;
  std::string detail;
  std::string module{};  ///< File of the module; "" without one.
};

/// The RDMA devices of this machine.
struct RdmaFact {
  std::vector<RdmaPort> ports;
  std::vector<RdmaLimits> limits;  ///< Empty without the module for `ib`.
};

/// Limits that follow from the number of ranks.
struct Limits {
  std::uint32_t ranks = 1;
  int rank_bits = 0;
  int color_bits = 0;
  int generation_bits = 0;
  int key_bits = 0;
  int offset_bits = 0;
  std::uint32_t colors_at_most = 0;
  std::uint32_t regions_at_most = 0;  ///< Registered by one rank's program.
  std::uint64_t region_bytes_at_most = 0;
};

struct SettingFact {
  std::string name;
  std::string option;
  std::string documentation;
  std::string choices;  ///< Values of this build, separated by '|'.
  std::string default_value;
  std::string value;
  std::string source;
};

/// The fields of a global address.
struct AddressFact {
  std::uint64_t address = 0;
  bool is_null = false;
  std::int64_t rank = -1;
  bool is_rank_of_job = false;
  std::uint32_t color = 0;
  std::uint32_t key = 0;
  std::uint64_t generation = 0;
  std::uint64_t offset = 0;
  std::string region;  ///< "starter memory", ...
};

/// Tries every transport.
std::vector<TransportFact> transport_facts(const Settings& settings);

/// Lists the RDMA devices. Precondition: transport_facts() has loaded the
/// module for `ib`, if there is one.
RdmaFact rdma_fact();

/// Returns the addresses of ACP_UDP_INTERFACES, one color each. Without any,
/// returns the loopback address.
std::vector<std::string> udp_addresses(const Settings& settings);

/// Returns the limits of a job. `ranks` is 1 to 1,048,575.
Limits limits_of(std::uint32_t ranks);

/// One fact for each setting, in the order of the table.
std::vector<SettingFact> setting_facts(const Settings& settings);

/// The settings of HMPI, from the environment of this process.
std::vector<SettingFact> hmpi_setting_facts();

/// Takes an address of a job of `ranks` ranks apart.
AddressFact take_apart(std::uint64_t address, std::uint32_t ranks);

}  // namespace acp::info
