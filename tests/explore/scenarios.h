// Helpers by which the lists of scenarios are written.
#pragma once

#include <string>
#include <vector>

#include "explore/scenario.h"

namespace explore {

using Scenarios = std::vector<Scenario>;
using Operations = std::vector<Operation>;

/// An operation, by a name for the scenario.
struct Named {
  const char* name = nullptr;
  Operation operation;
};

/// Adds a scenario, which is returned for changes. Its structure is the name up
/// to the first point.
Scenario& add(Scenarios& all,
              const std::string& name,
              const Operations& before,
              const std::vector<Operations>& programs);

/// Adds a scenario for each pair, also of an operation with itself.
void add_pairs(Scenarios& all,
               const std::string& prefix,
               std::uint64_t variant,
               const Operations& before,
               const std::vector<Named>& first,
               const std::vector<Named>& second);

/// Adds scenarios in which a rank takes a lock again and again, and others wait
/// for it. Fairness bounds how often it passes them.
void add_bypasses(Scenarios& all,
                  const std::string& structure,
                  const Operations& before,
                  const Operation& one);

void add_sequences(Scenarios& all);
void add_lists(Scenarios& all);
void add_tables(Scenarios& all);
void add_heaps(Scenarios& all);
void add_workspaces(Scenarios& all);
void add_channels(Scenarios& all);

/// Three ranks with three operations each: far too many schedules for a test.
void add_long_ones(Scenarios& all);

}  // namespace explore
