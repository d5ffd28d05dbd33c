// Adds up numbers in the output of a job, where each rank logs one line at its
// end.
#pragma once

#include <cstdlib>
#include <string>

namespace job {

/// A sum over the lines of the ranks.
struct Sum {
  long total = 0;
  int lines = 0;
};

/// Adds up the numbers that follow a text.
inline Sum sum_behind(const std::string& output, const std::string& text) {
  Sum sum;
  for (std::size_t at = output.find(text); at != std::string::npos;
       at = output.find(text, at + 1)) {
    sum.total += std::strtol(output.c_str() + at + text.size(), nullptr, 10);
    ++sum.lines;
  }
  return sum;
}

}  // namespace job
