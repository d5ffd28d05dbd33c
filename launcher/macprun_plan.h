// Makes a job of macprun's input file: which ranks each line has, which
// settings hold, and what the keepers start for each.
#pragma once

#include <string>
#include <vector>

#include "launcher/early_exit.h"
#include "launcher/macprun_file.h"
#include "launcher/options.h"
#include "launcher/plan.h"
#include "settings/settings.h"

namespace acp::launcher {

/// The lines of one input file, ready to be planned. Plain value.
struct MacprunJob {
  std::string file;  ///< Name of the input file, for messages.
  std::vector<MacprunLine> lines;
  /// Variables and directory of each line; empty unless the line is acprun's.
  std::vector<std::vector<std::string>> settings;
  std::vector<std::string> directories;
};

/// Reads the file that is the command of `options`, and checks each line. The
/// number of ranks becomes the sum of the counts, which -np has to be equal to.
/// Starter memory and heap become the largest of macprun's own and of the lines
/// that begin with acprun. All ranks of a job have the same sizes. `lookup`
/// reads the environment.
OrExit<MacprunJob> read_macprun_job(Options& options,
                                    const Settings::Lookup& lookup);

/// The groups of the job, one for each line. The seats of one job share a
/// token, which is random.
MakeGroups groups_of(const MacprunJob& job, const Options& options);

}  // namespace acp::launcher
