// What will be run where: options and node file, checked and worked out.
#pragma once

#include <string>
#include <vector>

#include "launcher/binding.h"
#include "launcher/early_exit.h"
#include "launcher/options.h"

namespace acp::launcher {

struct RankPlan {
  std::string path;                ///< What is executed.
  std::vector<std::string> words;  ///< argv.
  CpuSet cpus;
};

struct JobPlan {
  Options options;
  std::string host;
  std::vector<RankPlan> ranks;
  std::vector<std::string>
      environment;          ///< Variables of every rank, but for its place.
  CoreClaims claims;        ///< On the cores of the ranks.
  std::string why_unbound;  ///< The reason, see Bindings.
};

/// Reads the node file, finds the programs, claims cores and binds to them.
/// `environment` is acprun's own.
OrExit<JobPlan> make_plan(Options options, char* const* environment);

/// What --dry-run prints.
std::string describe_plan(const JobPlan& plan);

}  // namespace acp::launcher
