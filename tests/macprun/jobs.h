// Input files for tests of macprun.
#pragma once

#include <string>
#include <vector>

#include "tests/launcher/running.h"

namespace jobs {

struct Line {
  std::string launcher;  ///< "acprun", or mpirun with options.
  int procs = 1;
  std::string command;
};

/// The text of an input file.
inline std::string text_of(const std::vector<Line>& lines) {
  std::string text = std::to_string(lines.size()) + "\n";
  for (const Line& line : lines)
    text += line.launcher + "\n";
  for (const Line& line : lines)
    text += std::to_string(line.procs) + "\n";
  for (const Line& line : lines)
    text += line.command + "\n";
  return text;
}

/// Open MPI refuses to run for root, and tests may be run by root.
inline std::vector<std::string> environment() {
  return {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
          "OMPI_MCA_btl_vader_single_copy_mechanism=none",
          "OMPI_MCA_rmaps_base_oversubscribe=1",
          "OMPI_MCA_mpi_yield_when_idle=1"};
}

}  // namespace jobs
