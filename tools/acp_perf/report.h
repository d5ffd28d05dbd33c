// The results as a table for people, CSV for spreadsheets, JSON for programs.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "options.h"
#include "row.h"

namespace acp::perf {

/// The outcome of one row.
struct Result {
  const Row* row = nullptr;
  Samples samples;
  std::vector<double> rounds;  ///< The median of each round, in ns.
  Outcome outcome;
  std::string raw;  ///< The row to compare with, or "".
};

/// The machine and the job in pairs of name and value, for the head line.
using Machine = std::vector<std::pair<std::string, std::string>>;

/// Three significant digits: the measurements are no more precise.
std::string digits(double value);

/// "acp_perf: cores 2, ranks 4", without a line feed.
std::string head_line(const Machine& machine);

/// Converts `ns` per operation to the row's unit.
double in_unit(const Row& row, double ns);

/// The row's median divided by the median of its raw row; 0 without a raw row.
double ratio_of(const Result& result, const std::vector<Result>& all);

/// The whole report, with a line feed at its end.
std::string render(const Machine& machine,
                   const std::vector<Result>& results,
                   Format format);

}  // namespace acp::perf
