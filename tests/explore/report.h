// A failing schedule as a table.
#pragma once

#include "explore/exploration.h"
#include "explore/trace.h"

namespace explore {

/// Prints the steps: rank, step, word, old and new value.
void print_schedule(Exploration& exploration, const Trace& trace);

}  // namespace explore
