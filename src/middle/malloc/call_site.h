// Finds the line of the program that called the library.
#pragma once

#include <string>

namespace acp::middle {

/// Describes a return address: "program+0x1234 in main". If the address is
/// inside this library, because one of its functions allocates or frees, the
/// text describes the program's call of that function instead: "program+0x1234
/// in main (acp_create_map)". Called by the thread of the call. Slow: for debug
/// mode alone.
std::string describe_call_site(const void* site);

}  // namespace acp::middle
