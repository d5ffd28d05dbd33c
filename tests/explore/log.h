// Lines that the code of ranks logs.
#pragma once

#include <string>

namespace explore {

/// Keeps the line for the report of a failing schedule.
void note_log_line(int rank, const char* text);

}  // namespace explore
