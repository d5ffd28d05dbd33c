// The part of a plan that one host needs. acprun prepares its own ranks by it,
// and sends it to a daemon for the ranks of another host. It travels over the
// daemon's standard input, so that no environment is on a command line. The
// job's secret travels there as well, before everything else and by itself: it
// is in no buffer of messages.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/command_group.h"
#include "launcher/host_ranks.h"
#include "launcher/options.h"
#include "protocol/host_segment.h"

namespace acp::launcher {

/// How daemons are started. Plain value.
struct RemoteShell {
  std::vector<std::string> words;  ///< Command before the host's name.
  std::string acprun;              ///< acprun's file on the other hosts.
  std::chrono::milliseconds timeout{30'000};  ///< Until the greeting.
  std::uint32_t fan_out = 32;
};

/// Plain value.
struct HostOrders {
  protocol::JobIdentity identity{};  ///< Encoded without the secret.
  std::uint32_t procs = 1;
  protocol::HostSizes sizes{};
  /// The daemon's own host, then the hosts below it in the tree.
  std::vector<HostRanks> hosts;
  /// Names of hosts of the job; the first that is another one gives route_to.
  std::vector<std::string> routes;
  RemoteShell shell;
  /// The commands of the ranks; the first group begins with rank 0.
  std::vector<CommandGroup> groups;
  std::vector<std::string> wrap;
  std::string wrap_ranks;  ///< "": all.
  std::vector<std::string> environment;
  std::string directory;
  std::string output_dir;
  std::uint32_t input_rank = UINT32_MAX;  ///< Rank that reads standard input.
  Binding binding = Binding::kAuto;
  bool report_bindings = false;
  bool report_traffic = false;  ///< See kLastLook.
  bool tag = false;
  std::string program_name;  ///< --preload: name of the copy; "": none.
  std::int64_t output_window =
      0;  ///< Bytes of output before the first kCredit.
};

std::string encode_orders(const HostOrders& orders);

/// nullopt: bytes that no acprun of this version would send.
std::optional<HostOrders> decode_orders(std::string_view bytes);

}  // namespace acp::launcher
