// Which line of the program called the library.
#pragma once

#include <string>

namespace acp::middle {

/// Text about a return address: "program+0x1234 in main". When the address is
/// inside of this library, because one of its own functions allocates or frees,
/// the text tells of the program's call of that function instead:
/// "program+0x1234 in main (acp_create_map)". Called by the thread of the call.
/// Slow: for debug mode alone.
std::string describe_call_site(const void* site);

}  // namespace acp::middle
