// Compares two reports of --json.
#pragma once

#include <string>
#include <vector>

namespace acp::perf {

/// The text for the user, and the exit status: 0; 1 when a row is slower
/// that is no raw row; 2
/// when a report cannot be read.
struct Comparison {
  std::string text;
  int status = 0;
};

/// The probability that two samples of one distribution differ as much as
/// these: the two-sided rank-sum test of Mann and Whitney, exact for up to 40
/// values in all, and by its normal approximation above. 1 when one of them is
/// empty.
double probability_of_chance(const std::vector<double>& one,
                             const std::vector<double>& other);

/// Compares the reports in two files, row by row. A row that has a raw row in
/// both is compared by its ratio to the raw row of the same round, so that a
/// machine that was faster as a whole makes no difference.
Comparison compare_reports(const std::string& before, const std::string& after);

}  // namespace acp::perf
