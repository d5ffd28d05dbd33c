// How messages to the user name a process of the job: by its rank. Transports
// know the process number only, which acp_reset makes differ from the rank.
#pragma once

#include <cstdint>
#include <string>

#include "protocol/host_segment.h"

namespace acp::protocol {

/// "rank 3", or "rank 5 (started as rank 3)" for process 3 when acp_reset has
/// given it rank 5: the words of acprun's summary. Any thread. Takes time in
/// proportion to the number of ranks after acp_reset.
std::string name_of_proc(const HostSegment& segment, std::uint32_t proc);

}  // namespace acp::protocol
