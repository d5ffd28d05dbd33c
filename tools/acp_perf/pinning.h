// Places the two ranks that measure on cores of their own.
#pragma once

#include <string>

namespace acp::perf {

/// Binds the calling thread: rank 0 to the first allowed core, rank 1 to the
/// next other one. Other ranks, and hosts with one allowed core, stay as they
/// are. Returns what was done, for the head line: "0 and 1", or "no";
/// "rank 0 to 1" where it had one core only, from acprun or for want of more.
std::string pin_rank(int rank);

}  // namespace acp::perf
