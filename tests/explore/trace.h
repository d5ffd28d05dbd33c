// The steps of one schedule, for people.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace explore {

/// A step that changed or read memory, or an event of a program.
struct TraceLine {
  std::uint64_t step = 0;
  std::uint64_t time_us = 0;
  int rank = -1;
  std::string what;           ///< "cas8", "begins push_back(7)"
  std::uint64_t address = 0;  ///< 0: none.
  std::size_t bytes = 0;
  std::uint64_t before = 0;  ///< First word there.
  std::uint64_t after = 0;
};

using Trace = std::vector<TraceLine>;

}  // namespace explore
