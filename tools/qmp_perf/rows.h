// The patterns that qmp_perf measures.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace qmp_perf {

/// One pattern. Every node makes it, and all call `run` equally often.
struct Pattern {
  std::function<void()> run;
  /// The number of messages or half round trips by which the time of a run is
  /// divided.
  double parts = 1;
  /// Whether the bytes that arrived are right.
  std::function<bool()> is_right;
  /// Frees its handles.
  std::function<void()> end;
};

struct Row {
  std::string name;
  std::string what;
  bool needs_two;  ///< The row needs two nodes.
  std::function<Pattern()> make;
};

const std::vector<Row>& rows();

}  // namespace qmp_perf
