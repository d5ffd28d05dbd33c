// The table as people, spreadsheets and programs read it.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "options.h"
#include "row.h"

namespace acp::perf {

/// What became of one row.
struct Result {
  const Row* row = nullptr;
  Samples samples;
  Verdict verdict;
  std::string raw;  ///< The row to compare with, or "".
};

/// The machine and the job in pairs of name and value, for the head line.
using Machine = std::vector<std::pair<std::string, std::string>>;

/// Nanoseconds per operation in the row's unit.
double in_unit(const Row& row, double ns);

/// Ours divided by raw, both medians in the row's unit; 0 when there is none.
double ratio_of(const Result& result, const std::vector<Result>& all);

/// The whole report, with a line feed at its end.
std::string render(const Machine& machine,
                   const std::vector<Result>& results,
                   Format format);

}  // namespace acp::perf
