// The plan of a job: which program runs with which words on which processors,
// worked out from options and node file.
#pragma once

#include <string>
#include <vector>

#include "launcher/binding.h"
#include "launcher/early_exit.h"
#include "launcher/options.h"

namespace acp::launcher {

struct RankPlan {
  std::string path;                ///< File for exec.
  std::vector<std::string> words;  ///< argv.
  CpuSet cpus;
};

struct JobPlan {
  Options options;
  std::string host;
  std::vector<RankPlan> ranks;
  /// Variables of all ranks, without their numbers.
  std::vector<std::string> environment;
  CoreClaims claims;        ///< Claims on the cores of the ranks.
  std::string why_unbound;  ///< See Bindings.
};

/// Reads the node file, finds the programs, claims cores and binds to them.
/// `environment` is acprun's own.
OrExit<JobPlan> make_plan(Options options, char* const* environment);

/// The text that --dry-run prints.
std::string describe_plan(const JobPlan& plan);

}  // namespace acp::launcher
