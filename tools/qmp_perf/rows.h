// The patterns that qmp_perf measures.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace qmp_perf {

/// One pattern. Every node makes it and calls `run` equally often.
struct Pattern {
  std::function<void()> run;
  /// What one run has to be divided by: messages, half round trips.
  double parts = 1;
  /// Whether what arrived is right.
  std::function<bool()> is_right;
  /// Frees its handles.
  std::function<void()> end;
};

struct Row {
  std::string name;
  std::string what;
  bool needs_two;  ///< Nodes.
  std::function<Pattern()> make;
};

const std::vector<Row>& rows();

}  // namespace qmp_perf
