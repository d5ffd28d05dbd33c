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
  std::vector<std::string> environment;  ///< Of every rank, complete.
};

/// Reads the node file, finds the programs, works out the bindings.
/// `environment` is acprun's own.
OrExit<JobPlan> make_plan(Options options, char* const* environment);

/// What --dry-run prints.
std::string describe_plan(const JobPlan& plan);

}  // namespace acp::launcher
