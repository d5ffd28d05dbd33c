// A scenario: a structure, and one or more operations on each rank.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "explore/program.h"
#include "explore/world.h"

namespace explore {

struct Scenario {
  std::string name;
  std::string structure;
  std::uint64_t variant = 0;
  std::vector<Operation> before;   ///< Done by rank 0 before each schedule ...
  std::vector<Operation> before1;  ///< ... and then these by rank 1.
  std::vector<std::vector<Operation>> programs;  ///< One for each rank ...
  std::vector<std::vector<Operation>>
      threads;             ///< ... and each further thread of rank 0.
  bool has_cache = true;   ///< Ranks keep free blocks of the heaps ...
  bool is_warm = true;     ///< ... and have some at the beginning.
  bool is_apart = false;   ///< Runs only when it is asked for by its group.
  bool is_direct = false;  ///< The owner accesses all of its memory directly.
};

/// All scenarios, in the order in which they run.
std::vector<Scenario> all_scenarios();

}  // namespace explore
