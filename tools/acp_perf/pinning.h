// Binds the two ranks that measure to cores of their own.
#pragma once

#include <string>

namespace acp::perf {

/// Binds the calling thread: rank 0 to the first allowed core, rank 1 to the
/// second. Other ranks, and processes with one allowed core, are not bound.
/// Returns a text for the head line: "0 and 1" when both cores are there, "no"
/// when binding failed, "rank 0 to 1" when only one core was allowed.
std::string pin_rank(int rank);

}  // namespace acp::perf
