// Tells people what this rank uses in its job. It names the network and the
// reason for it, the ends of the colors, the protection of packets, and the
// executor of atomics. acp_info --job asks, linked with the archive of the
// library; programs cannot.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace acp::api {

struct JobFacts {
  std::string host;          ///< Its name.
  std::uint32_t leader = 0;  ///< First process of this host; stands for it.
  std::string network;  ///< "udp", "verbs", "ucx"; "verbs and udp" for a rank
                        ///< that uses both; "none" where no rank needs one.
  std::string why;      ///< Why it is this network.
  std::vector<std::string> colors;  ///< This rank's end of each color.
  std::string protection;  ///< How packets are protected; "": not by ACP.
  std::string atomics;     ///< Their executors.
};

/// Precondition: between acp_init and acp_finalize.
JobFacts job_facts();

}  // namespace acp::api
