// Tells all processes of a host that their job ends.
#pragma once

#include "protocol/host_segment.h"

namespace acp::protocol {

/// Sets HostHeader::job_state to kEnding and wakes every thread of the host
/// that sleeps on a futex. A thread in epoll looks when its time limit is over.
/// Each wait then fails. False: the job was ending already. Any thread of any
/// process of the host may call it, any number of times.
bool end_job(const HostSegment& segment) noexcept;

bool is_ending(const HostSegment& segment) noexcept;

}  // namespace acp::protocol
