// The ranks of one host, ready to be started: programs found, processors
// claimed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launcher/binding.h"
#include "launcher/early_exit.h"
#include "launcher/host_orders.h"

namespace acp::launcher {

struct RankPlan {
  std::uint32_t rank = 0;             ///< Number at launch.
  std::string path;                   ///< File for exec.
  std::vector<std::string> words;     ///< argv.
  std::vector<std::string> settings;  ///< "NAME=value", instead of others.
  std::string directory;              ///< "": that of the host's work.
  CpuSet cpus;
};

/// Move-only: the claims last as long as this.
struct HostWork {
  std::uint32_t procs = 1;      ///< Ranks of the job.
  std::vector<RankPlan> ranks;  ///< The host's ranks, by slot.
  /// Variables of all ranks, without their numbers.
  std::vector<std::string> environment;
  std::string directory;   ///< "": that of acprun.
  std::string output_dir;  ///< "": acprun's own output.
  /// The file of --preload, which the keeper removes at its end or when the
  /// daemon is gone; "": none.
  std::string copied_program;
  bool tag = false;
  std::uint32_t input_rank = UINT32_MAX;  ///< Rank that reads standard input.
  CoreClaims claims;                      ///< On the processors of the ranks.
  std::string why_unbound;                ///< See Bindings.
};

/// Finds the programs for the first host of the orders, which is this one,
/// claims processors and binds to them. `program` is the file of a copied
/// program; "": the one of the command.
OrExit<HostWork> prepare_host(const HostOrders& orders,
                              const std::string& program = {});

/// The lines of --report-bindings. `host` is this host's name.
std::string describe_bindings(const HostWork& work, const std::string& host);

}  // namespace acp::launcher
