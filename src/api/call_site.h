// Finds the line of the program whose call has failed. Called once, by the
// error action that ends the job.
#pragma once

#include <string>

namespace acp::api {

/// "exchange() at halo.c:42" for the innermost frame of this thread outside of
/// the library; "halo+0x12f4 (...)", with what is missing, if the line cannot
/// be had. "" in a thread that the program has not called from, or without
/// memory.
///
/// Runs addr2line of the binutils for at most 10 s.
std::string call_site() noexcept;

}  // namespace acp::api
