// What QMP takes out of a command line, and from the environment.
#pragma once

#include <optional>
#include <vector>

#include "qmp/layout.h"

namespace qmp {

struct Options {
  std::vector<int> geometry;                  ///< -qmp-geom, or QMP_GEOM
  const char* geometry_source = "-qmp-geom";  ///< Which of the two.
  std::vector<int> allocated_map;             ///< -qmp-alloc-map
  std::vector<int> logical_map;               ///< -qmp-logic-map
  std::vector<int> jobs;                      ///< -qmp-job
  Layout layout = Layout::kLeastSurface;      ///< QMP_LAYOUT
};

/// Removes our options and their values. Nothing, and a failure, when a word
/// has no value or a wrong one; then the command line is as it was.
std::optional<Options> take_options(int* argc, char** argv);

}  // namespace qmp
