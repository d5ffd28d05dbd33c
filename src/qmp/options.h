// The options of QMP on the command line, and the settings QMP_GEOM and
// QMP_LAYOUT. Used by QMP_init_msg_passing alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "qmp/layout.h"

namespace qmp {

/// The names of the options, for messages.
inline constexpr char kOptionNames[] =
    "-qmp-geom, -qmp-alloc-map, -qmp-logic-map and -qmp-job";

struct Options {
  std::vector<int> geometry;                  ///< -qmp-geom or QMP_GEOM
  const char* geometry_source = "-qmp-geom";  ///< Which of the two it is.
  std::vector<int> allocated_map;             ///< -qmp-alloc-map
  std::vector<int> logical_map;               ///< -qmp-logic-map
  std::vector<int> jobs;                      ///< -qmp-job
  /// Words that begin as our options do and are none; the program keeps them.
  std::vector<std::string> unknown;
  Layout layout = Layout::kLeastSurface;  ///< QMP_LAYOUT
};

/// Takes the options and their values out of a command line. Nothing, and a
/// failure, when an option has no value or a wrong one; the command line then
/// stays as it was.
std::optional<Options> take_options(int* argc, char** argv);

}  // namespace qmp
